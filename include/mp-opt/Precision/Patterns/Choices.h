//===- Choices.h - Who was chosen -------------------------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Gradients of maxima ask which elements the maximum is equal to:
//   y = ReduceMax(x);  isChosen = Equal(x, Unsqueeze(y))
// If one side is rounded and the other is not, nothing is equal, and the
// gradient is zero. So the comparison reads what the node read, and what it
// yielded, both as they were there. The same goes for differences:
//   y = ReduceLogSumExp(x);  share = Exp(Sub(x, y))
// of which not much is left where both are large.
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

/// Those in `scope` and its subgraphs, in order.
std::vector<Choice> findChoices(mlir::Operation *scope, ChoiceKind kind);

} // namespace mp

#endif // MPOPT_PRECISION_PATTERNS_CHOICES_H
