//===- GroupTests.cpp - Searches by tests of groups -----------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Group testing and delta debugging on planted culprits: the result is what was
// planted, and the number of tests is within the bound of the headers.
//
//===----------------------------------------------------------------------===//

#include "Expect.h"

#include "mp-opt/Support/DeltaDebugging.h"
#include "mp-opt/Support/GroupTesting.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <cmath>
#include <numeric>
#include <random>
#include <set>

using namespace llvm;
using Indices = std::vector<size_t>;

static unsigned numTests;

/// Finds items; `fails` says whether the items that are not kept fail together.
static mp::GroupTestResult
findPlanted(size_t count, function_ref<bool(const BitVector &)> fails,
            unsigned limit = ~0u) {
  numTests = 0;
  auto test = [&](const BitVector &kept) -> Expected<std::optional<bool>> {
    if (numTests++ == limit)
      return std::nullopt;
    BitVector rest = kept;
    rest.flip();
    return !fails(rest);
  };
  return cantFail(mp::findNeededItems(count, test, [](size_t, size_t) {}));
}

static uint64_t getBound(size_t k, size_t n) {
  return k * (Log2_64_Ceil(n) + Log2_64_Ceil(k) + 3);
}

/// Random independent culprits: exactly these are found, within the bound.
static void testIndependent() {
  std::mt19937 random(1);
  for (size_t n : {1, 2, 3, 7, 64, 300, 1000, 4097})
    for (size_t k : {1, 2, 3, 10, 100}) {
      if (k > n)
        continue;
      std::set<size_t> planted;
      while (planted.size() < k)
        planted.insert(random() % n);
      auto result = findPlanted(n, [&](const BitVector &rest) {
        return any_of(planted, [&](size_t item) { return rest[item]; });
      });
      expect(result.items == Indices(planted.begin(), planted.end()),
             "n " + Twine(n) + ", k " + Twine(k) + ": other items");
      expect(result.isMinimal, "not minimal");
      expect(numTests <= getBound(k, n), "n " + Twine(n) + ", k " + Twine(k) +
                                             ": " + Twine(numTests) + " tests");
    }
}

/// The worst places: the first items, the last ones, neighbours, all.
static void testPlaces() {
  constexpr size_t n = 512;
  for (size_t k : {1, 4, 16})
    for (size_t step : {size_t(1), n / k})
      for (bool isLast : {false, true}) {
        Indices planted;
        for (size_t i = 0; i < k; ++i)
          planted.push_back(isLast ? n - 1 - (k - 1 - i) * step : i * step);
        auto result = findPlanted(n, [&](const BitVector &rest) {
          return any_of(planted, [&](size_t item) { return rest[item]; });
        });
        expect(result.items == planted, "other items at " + Twine(step));
        expect(numTests <= getBound(k, n), Twine(numTests) + " tests");
      }
  findPlanted(n, [](const BitVector &rest) { return rest.any(); });
  expect(numTests <= 4 * n, "all items take " + Twine(numTests) + " tests");
}

/// Items that fail only together: one of each group is kept.
static void testTogether() {
  auto result = findPlanted(300, [](const BitVector &rest) {
    return (rest[7] && rest[250]) || (rest[100] && rest[101] && rest[102]);
  });
  expect(result.items == Indices({7, 100}), "other items of groups");
  expect(numTests <= getBound(2, 300), Twine(numTests) + " tests of groups");
}

/// Errors that add up to more than a limit: no item of the result can be
/// spared.
static void testSums() {
  std::mt19937 random(2);
  std::vector<double> errors(200);
  for (double &error : errors)
    error = std::exp(double(random() % 1000) / 100);
  double all = std::accumulate(errors.begin(), errors.end(), 0.0);
  auto fails = [&](const BitVector &rest) {
    double sum = 0;
    for (unsigned item : rest.set_bits())
      sum += errors[item];
    return sum > all / 10;
  };
  auto result = findPlanted(errors.size(), fails);
  BitVector rest(errors.size(), true);
  for (size_t item : result.items)
    rest.reset(item);
  expect(!fails(rest), "the kept items do not pass");
  for (size_t item : result.items) {
    rest.set(item);
    expect(fails(rest), "item " + Twine(item) + " is not needed");
    rest.reset(item);
  }
}

/// A test that is not monotone still ends, with a set that has passed.
static void testNotMonotone() {
  for (unsigned seed = 0; seed < 50; ++seed) {
    std::vector<std::pair<BitVector, bool>> asked;
    numTests = 0;
    auto answer = [&](const BitVector &kept) -> Expected<std::optional<bool>> {
      size_t hash = seed;
      for (unsigned item : kept.set_bits())
        hash = hash * 31 + item;
      bool passes = kept.all() || (kept.any() && hash % 3 == 0);
      asked.push_back({kept, passes});
      return passes;
    };
    auto result =
        cantFail(mp::findNeededItems(64, answer, [](size_t, size_t) {}));
    BitVector kept(64);
    for (size_t item : result.items)
      kept.set(item);
    bool hasPassed = kept.all();
    for (const auto &[set, passes] : asked)
      hasPassed |= passes && set == kept;
    expect(hasPassed, "a set that was not seen to pass");
  }
}

/// Tests that end early give items that are known to pass.
static void testLimit() {
  auto fails = [](const BitVector &rest) { return rest[40] || rest[41]; };
  for (unsigned limit = 0; limit < 20; ++limit) {
    auto result = findPlanted(64, fails, limit);
    BitVector rest(64, true);
    for (size_t item : result.items)
      rest.reset(item);
    expect(!fails(rest), "limit " + Twine(limit) + ": the items do not pass");
    expect(result.isMinimal == (result.items == Indices({40, 41})),
           "limit " + Twine(limit) + ": wrongly minimal");
  }
}

/// Changes: all but the planted ones are applied, within the bound.
static void testChanges() {
  for (size_t n : {1, 10, 300})
    for (size_t chunk : {n, size_t(1), size_t(7)}) {
      std::set<size_t> refused = {0, n / 2, n - 1};
      unsigned trials = 0;
      std::vector<bool> applied(n);
      auto attempt = [&](size_t begin,
                         size_t end) -> Expected<std::optional<bool>> {
        ++trials;
        for (size_t i = begin; i < end; ++i)
          if (refused.count(i))
            return false;
        for (size_t i = begin; i < end; ++i)
          applied[i] = true;
        return true;
      };
      size_t count = cantFail(mp::applyChanges(n, chunk, attempt));
      expect(count == n - refused.size(), "other changes were applied");
      expect(size_t(llvm::count(applied, true)) == count, "a wrong number");
      if (chunk == n)
        expect(trials <= 2 * refused.size() * (Log2_64_Ceil(n) + 1) + 1,
               Twine(trials) + " trials");
    }
  auto end = [](size_t, size_t) -> Expected<std::optional<bool>> {
    return std::nullopt;
  };
  expect(cantFail(mp::applyChanges(5, 5, end)) == 0, "changes after the end");
}

int main() {
  testIndependent();
  testPlaces();
  testTogether();
  testSums();
  testNotMonotone();
  testLimit();
  testChanges();
  return isGood ? 0 : 1;
}
