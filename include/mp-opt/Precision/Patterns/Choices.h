//===- Choices.h - Comparisons with chosen elements -------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Gradients of maxima ask which elements the maximum is equal to:
//   y = ReduceMax(x);  isChosen = Equal(x, Unsqueeze(y))
// If only one side is rounded, nothing is equal, and the gradient is zero. The
// comparison therefore reads the node's operand and its result exactly as the
// node read and yielded them. The same applies to differences:
//   y = ReduceLogSumExp(x);  share = Exp(Sub(x, y))
// since most digits of a difference cancel where both terms are large.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_PRECISION_PATTERNS_CHOICES_H
#define MPOPT_PRECISION_PATTERNS_CHOICES_H

#include "mp-opt/Dialect/ONNX/ONNX.h"

namespace mp {

enum class ChoiceKind { Equality, EqualityOrDifference };

/// A comparison of an operand of a node with a result of that node.
struct Choice {
  mlir::Operation *comparison;
  /// The result.
  mlir::OpResult chosen;
  /// Data movement, and bounds, between the node and the comparison.
  llvm::SmallVector<mlir::Operation *, 2> movements;
};

/// The choices in `scope` and its subgraphs, in order.
std::vector<Choice> findChoices(mlir::Operation *scope, ChoiceKind kind);

} // namespace mp

#endif // MPOPT_PRECISION_PATTERNS_CHOICES_H
