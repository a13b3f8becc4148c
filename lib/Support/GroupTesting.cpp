//===- GroupTesting.cpp - A least set that makes a test pass --------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Support/GroupTesting.h"

using namespace llvm;

namespace mp {

namespace {

class GroupTests {
public:
  GroupTests(size_t count, GroupTestFn test)
      : test(test), found(count), hi(count) {}

  /// Moves `hi` down to the end of the shortest prefix that passes together
  /// with the found items. False if the tests have ended early.
  Expected<bool> narrow();
  /// Takes the last item of the prefix.
  size_t take() {
    found.set(--hi);
    lo = 0;
    return hi;
  }
  /// True if the found items pass without a prefix.
  Expected<std::optional<bool>> passesAlone() {
    return hi ? passes(0) : Expected<std::optional<bool>>(true);
  }

  size_t getLeft() const { return hi; }
  /// The found items and the prefix, which pass.
  std::vector<size_t> getItems() const {
    BitVector kept = found;
    kept.set(0, hi);
    return std::vector<size_t>(kept.set_bits_begin(), kept.set_bits_end());
  }
  std::vector<size_t> getFound() const {
    return std::vector<size_t>(found.set_bits_begin(), found.set_bits_end());
  }

private:
  Expected<std::optional<bool>> passes(size_t length) {
    BitVector kept = found;
    kept.set(0, length);
    return test(kept);
  }
  /// Tests a prefix and moves one of the bounds to it; `passed` is the answer.
  /// False if the tests have ended.
  Expected<bool> probe(size_t length, bool &passed) {
    Expected<std::optional<bool>> answer = passes(length);
    if (!answer)
      return answer.takeError();
    if (!*answer)
      return false;
    passed = **answer;
    (passed ? hi : lo) = length;
    return true;
  }

  GroupTestFn test;
  BitVector found;
  /// The longest prefix that is known to fail, and the shortest one that is
  /// known to pass.
  size_t lo = 0, hi;
};

} // namespace

Expected<bool> GroupTests::narrow() {
  size_t step = std::max<size_t>(1, hi / (found.count() + 1));
  for (bool passed = true; passed && step < hi; step *= 2) {
    Expected<bool> goesOn = probe(hi - step, passed);
    if (!goesOn || !*goesOn)
      return goesOn;
  }
  while (hi - lo > 1) {
    bool passed;
    Expected<bool> goesOn = probe(lo + (hi - lo) / 2, passed);
    if (!goesOn || !*goesOn)
      return goesOn;
  }
  return true;
}

Expected<GroupTestResult>
findNeededItems(size_t count, GroupTestFn test,
                function_ref<void(size_t item, size_t left)> onFound) {
  GroupTests tests(count, test);
  while (tests.getLeft()) {
    Expected<bool> goesOn = tests.narrow();
    if (!goesOn)
      return goesOn.takeError();
    if (!*goesOn)
      return GroupTestResult{tests.getItems(), /*isMinimal=*/false};
    size_t item = tests.take();
    onFound(item, tests.getLeft());
    Expected<std::optional<bool>> passed = tests.passesAlone();
    if (!passed)
      return passed.takeError();
    if (!*passed)
      return GroupTestResult{tests.getItems(), /*isMinimal=*/false};
    if (**passed)
      break;
  }
  return GroupTestResult{tests.getFound(), /*isMinimal=*/true};
}

} // namespace mp
