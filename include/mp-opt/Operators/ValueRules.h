//===- ValueRules.h - What values attributes may have -----------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the standard says of attributes in prose only: the words that a mode may
// be, which axes there are, how long a list has to be. One row for each, by
// operator; where ONNX's own inference looks at an attribute, a row here says
// it better, and where it does not, nobody else would.
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
    /// An axis of operand `operand`, counted from the back if negative; the
    /// number behind the last one, too, if `most` is 1. Counts only if operand
    /// `least`, where that is not 0, is no scalar.
    Axis,
    /// Different axes of it.
    Axes,
    /// All of its axes in some order.
    Permutation,
    /// `least` numbers for each axis of it behind the first two.
    PerSpatialAxis,
    /// `least` texts for each direction of a recurrent operator.
    PerDirection,
    /// As many numbers as attribute `words` has.
    AsMany,
    /// An element type that results may have.
    ElementType,
    /// Exactly one of the attributes `words` is given.
    OneOf,
    /// Divides size `least` of operand `operand`; its square does if `most` is
    /// 2.
    Divides,
    /// The sizes of a kernel, operand `operand`, behind the first two.
    Kernel,
    /// Sizes by letters, as Einsum has them.
    Equation,
    /// As many as the node has results.
    CountsResults,
  };

  llvm::StringLiteral op;
  llvm::StringLiteral attribute;
  Kind kind;
  uint8_t operand = 0;
  int least = 0;
  int most = 0;
  /// With bars between them.
  llvm::StringLiteral words = "";
  /// Versions of the operator that it is for.
  int since = 1;
  int until = INT_MAX;
};

/// Sizes of operands that have to agree: size `dim` of `operand` is size
/// `otherDim` of `other`, times `times`, and times the attribute `factor` if
/// that is named (1 if it is not given).
struct SizeRule {
  llvm::StringLiteral op;
  uint8_t operand, dim;
  uint8_t other, otherDim;
  llvm::StringLiteral factor = "";
  int since = 1;
  int times = 1;
};

/// What an operand has to be.
struct OperandRule {
  enum Kind : uint8_t {
    /// Its rank is `least` to `most`.
    Rank,
    /// It has one element.
    OneElement,
    /// Different axes of operand 0, where they are constant.
    Axes,
    /// The sizes that operand 0 gets, with as many elements in all.
    Sizes,
    /// Integers from `least` (INT_MIN: -2^48) to 2^48, where they are constant.
    Integers,
    /// The same, and no more than 2^48 elements in all.
    Shape,
    /// Integers that are added to the sizes of operand 0, two for each; the
    /// result has no negative ones, and at most 2^48 elements.
    Pads,
    /// Integers by which the sizes of operand 0 are multiplied.
    Repeats,
    /// Numbers other than 0, where they are constant.
    NotZero,
    /// Finite numbers above 0, if it is called `scales` and constant.
    Scales,
    /// The step of a sequence from operand 0 to operand 1: not 0, and at most
    /// 2^48 elements, where they are constant.
    Steps,
  };

  llvm::StringLiteral op;
  uint8_t operand;
  Kind kind;
  int least = 0;
  int most = INT_MAX;
  int since = 1;
};

/// The rules of an operator of one of ONNX's domains, those of all its
/// versions.
llvm::ArrayRef<ValueRule> getValueRules(llvm::StringRef op);
llvm::ArrayRef<SizeRule> getSizeRules(llvm::StringRef op);
llvm::ArrayRef<OperandRule> getOperandRules(llvm::StringRef op);

} // namespace mp

#endif // MPOPT_OPERATORS_VALUERULES_H
