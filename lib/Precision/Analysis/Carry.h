//===- Carry.h - Effects on large elements ----------------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Classifies operators for the analyses that look for overflow.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_PRECISION_ANALYSIS_CARRY_H
#define MPOPT_LIB_PRECISION_ANALYSIS_CARRY_H

#include "mp-opt/Operators/OperatorTraits.h"

namespace mp {

/// The effect of an operator on large elements of its operands.
enum class Carry : uint8_t {
  /// The result is another quantity.
  Drops,
  /// They are cut off at other operands.
  Bounds,
  Keeps,
  Scales,
  Divides,
  Contracts
};

Carry getCarry(const OperatorTraits &traits);

} // namespace mp

#endif // MPOPT_LIB_PRECISION_ANALYSIS_CARRY_H
