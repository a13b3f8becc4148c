//===- Carry.h - What becomes of large elements -----------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the analyses that look for overflow make of operators.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_PRECISION_ANALYSIS_CARRY_H
#define MPOPT_LIB_PRECISION_ANALYSIS_CARRY_H

#include "mp-opt/Operators/OperatorTraits.h"

namespace mp {

/// What an operator does with large elements of its operands.
enum class Carry : uint8_t {
  /// Its result is another quantity.
  Drops,
  /// Cuts them off at other operands.
  Bounds,
  Keeps,
  Scales,
  Divides,
  Contracts
};

Carry getCarry(const OperatorTraits &traits);

} // namespace mp

#endif // MPOPT_LIB_PRECISION_ANALYSIS_CARRY_H
