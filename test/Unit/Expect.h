//===- Expect.h - What must hold in a unit test -----------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_TEST_UNIT_EXPECT_H
#define MPOPT_TEST_UNIT_EXPECT_H

#include "llvm/ADT/Twine.h"
#include "llvm/Support/raw_ostream.h"

/// True if all expectations have held so far.
inline bool isGood = true;

/// Prints `what` if it does not hold.
inline void expect(bool holds, const llvm::Twine &what) {
  if (holds)
    return;
  llvm::errs() << what << "\n";
  isGood = false;
}

#endif // MPOPT_TEST_UNIT_EXPECT_H
