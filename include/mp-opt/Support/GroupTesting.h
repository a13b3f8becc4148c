//===- GroupTesting.h - A least set that makes a test pass ------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Finds the members of a big set that matter by tests of whole groups. Method:
// items are ordered. The test passes if the items found so far are kept and,
// with them, a prefix of the others, and it fails if only the former are kept.
// Binary search finds where the prefix becomes too short: its last item is
// found. The search goes on among the items before it until the items found
// pass on their own.
//
// As in Hwang's generalized binary splitting, the search after f found items
// begins with the last 1/(f + 1) of the items that are left, and doubles that
// group until the test fails without it, so that many culprits take few tests
// each.
//
// The result of a monotone test (a test that passes still passes if more is
// kept) is minimal: without any of its items the test fails. That includes
// items that only fail together, of which one is kept. For k found items among
// n there are at most
//
//     k (ceil(log2 n) + ceil(log2 k) + 3)
//
// tests. If the test is not monotone, the result still passes, since it is
// always tested itself.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_SUPPORT_GROUPTESTING_H
#define MPOPT_SUPPORT_GROUPTESTING_H

#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/Error.h"

#include <optional>
#include <vector>

namespace mp {

struct GroupTestResult {
  /// Indices of the items that are kept, in order. They pass the test.
  std::vector<size_t> items;
  /// False if the tests ended early: fewer items may pass, too.
  bool isMinimal = true;
};

/// Says whether the items in `kept` pass. Absent to end the tests.
using GroupTestFn = llvm::function_ref<llvm::Expected<std::optional<bool>>(
    const llvm::BitVector &kept)>;

/// Finds the items that must be kept. The caller has tested that all of the
/// `count` items pass together, and that none of them alone does not. Fails if
/// a test does. `onFound` is called for each item as it is found.
llvm::Expected<GroupTestResult>
findNeededItems(size_t count, GroupTestFn test,
                llvm::function_ref<void(size_t item, size_t left)> onFound);

} // namespace mp

#endif // MPOPT_SUPPORT_GROUPTESTING_H
