//===- CompositeContext.h - Finders of decomposed ops -----------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_PRECISION_PATTERNS_COMPOSITECONTEXT_H
#define MPOPT_LIB_PRECISION_PATTERNS_COMPOSITECONTEXT_H

#include "ReduceBroadcast.h"
#include "mp-opt/Precision/Patterns/Composites.h"

namespace mp {

/// What the finders read. They append composites of which nodes may repeat,
/// stand in any order, and be in other composites too.
struct CompositeContext {
  const ReductionLevels &levels;
  OperatorTraitsCache &kinds;
  std::vector<Composite> &composites;

  void add(llvm::StringRef opType, std::vector<mlir::Operation *> nodes,
           llvm::StringRef domain = "") {
    composites.push_back({domain, opType, std::move(nodes)});
  }
  bool isWeak(mlir::Value value) const {
    return levels.lookup(value) == ReductionLevels::weak;
  }
  OperatorMath getMath(mlir::Operation *op) const {
    return op ? kinds.lookup(op).math : OperatorMath::Other;
  }
  /// An elementwise op, or data movement, that bounds, chooses or passes on
  /// elements: no sum, product, power, root, exponential or logarithm.
  bool isPlain(mlir::Operation *op) const;
  /// The op changes how the elements of its first operand are stored or lie,
  /// not what they are.
  bool isCopy(mlir::Operation *op) const;
};

/// Normalizations, softmaxes, moments.
void findReductionComposites(CompositeContext &context,
                             llvm::ArrayRef<ReduceBroadcast> patterns);
/// Losses, gradients, cosines: sums of products and logarithms.
void findProductComposites(CompositeContext &context,
                           llvm::ArrayRef<ReduceBroadcast> patterns);
/// Functions made of exponentials and logarithms.
void findFunctionComposites(CompositeContext &context);

} // namespace mp

#endif // MPOPT_LIB_PRECISION_PATTERNS_COMPOSITECONTEXT_H
