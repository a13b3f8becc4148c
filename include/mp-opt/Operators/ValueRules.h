//===- ValueRules.h - Valid values of attributes ----------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Rules for attributes that the standard only states in prose: the allowed
// words of a mode, valid axes, lengths of lists. There is one row per rule,
// ordered by operator. Where ONNX's own inference checks an attribute, a row
// here gives a better message; otherwise nothing else would check it.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_OPERATORS_VALUERULES_H
#define MPOPT_OPERATORS_VALUERULES_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <climits>
#include <cstdint>

namespace mp {

struct ValueRule {
  enum Kind : uint8_t {
    /// A text, or each of a list of texts, is one of `words`.
    Words,
    /// A number from `least` to `most`.
    Number,
    /// An axis of operand `operand`, counted from the back if negative. If
    /// `most` is 1, the number after the last axis is valid too. If `least` is
    /// not 0, the rule applies only if operand `least` is not a scalar.
    Axis,
    /// Different axes of it.
    Axes,
    /// All of its axes in some order.
    Permutation,
    /// `least` numbers for each axis of it after the first two.
    PerSpatialAxis,
    /// `least` texts for each direction of a recurrent operator.
    PerDirection,
    /// As many numbers as attribute `words` has.
    AsMany,
    /// An element type that results may have.
    ElementType,
    /// Exactly one of the attributes `words` is given.
    OneOf,
    /// A number that divides size `least` of operand `operand`; if `most` is 2,
    /// its square does.
    Divides,
    /// The sizes of a kernel, operand `operand`, after the first two.
    Kernel,
    /// Sizes named by letters, as in Einsum.
    Equation,
    /// The number of the node's results.
    CountsResults,
  };

  llvm::StringLiteral op;
  llvm::StringLiteral attribute;
  Kind kind;
  uint8_t operand = 0;
  int least = 0;
  int most = 0;
  /// Words separated by bars.
  llvm::StringLiteral words = "";
  /// The versions of the operator to which the rule applies.
  int since = 1;
  int until = INT_MAX;
};

/// Sizes of operands that must agree: size `dim` of `operand` is size
/// `otherDim` of `other`, times `times`, and times the attribute `factor` if
/// that is named (1 if it is absent).
struct SizeRule {
  llvm::StringLiteral op;
  uint8_t operand, dim;
  uint8_t other, otherDim;
  llvm::StringLiteral factor = "";
  int since = 1;
  int times = 1;
  /// An attribute with which the rule does not apply unless it is 0.
  llvm::StringLiteral unless = "";
};

/// A requirement on an operand.
struct OperandRule {
  enum Kind : uint8_t {
    /// Its rank is `least` to `most`.
    Rank,
    /// It has exactly one element.
    OneElement,
    /// Different axes of operand 0; checked if constant.
    Axes,
    /// The new sizes of operand 0, which keep its number of elements.
    Sizes,
    /// Integers from `least` (INT_MIN: -2^48) to 2^48; checked if constant.
    Integers,
    /// The same, with at most 2^48 elements in all.
    Shape,
    /// Integers that are added to the sizes of operand 0, two per axis; the
    /// result has no negative sizes, and at most 2^48 elements.
    Pads,
    /// Integers by which the sizes of operand 0 are multiplied.
    Repeats,
    /// Numbers other than 0; checked if constant.
    NotZero,
    /// Finite numbers above 0; checked if the operand is called `scales` and
    /// constant.
    Scales,
    /// The step of a sequence from operand 0 to operand 1: not 0, and with at
    /// most 2^48 elements; checked if constant.
    Steps,
  };

  llvm::StringLiteral op;
  uint8_t operand;
  Kind kind;
  int least = 0;
  int most = INT_MAX;
  int since = 1;
};

/// The rules for all versions of an operator of one of ONNX's domains.
llvm::ArrayRef<ValueRule> getValueRules(llvm::StringRef op);
llvm::ArrayRef<SizeRule> getSizeRules(llvm::StringRef op);
llvm::ArrayRef<OperandRule> getOperandRules(llvm::StringRef op);

} // namespace mp

#endif // MPOPT_OPERATORS_VALUERULES_H
