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

/// The data that the finders read. They append composites; nodes of these may
/// repeat, come in any order, and be in other composites too.
struct CompositeContext {
  const ReductionLevels &levels;
  OperatorTraitsCache &kinds;
  std::vector<Composite> &composites;

  void add(llvm::StringRef opType, std::vector<mlir::Operation *> nodes,
           llvm::StringRef domain = "") {
    composites.push_back({domain, opType, std::move(nodes)});
  }
  bool isDerivedFromConstants(mlir::Value value) const {
    return levels.lookup(value) == ReductionLevels::constantLevel;
  }
  OperatorMath getMath(mlir::Operation *op) const {
    return op ? kinds.lookup(op).math : OperatorMath::Other;
  }
  /// True for an elementwise op, or data movement, that bounds, chooses or
  /// passes on elements, but not for sums, products, powers, roots,
  /// exponentials and logarithms.
  bool isPlain(mlir::Operation *op) const;
  /// True if the op changes how the elements of its first operand are stored or
  /// ordered, but not their values.
  bool isCopy(mlir::Operation *op) const;
};

/// Finds normalizations, softmaxes and moments.
void findReductionComposites(CompositeContext &context,
                             llvm::ArrayRef<ReduceBroadcast> patterns);
/// Finds losses, gradients and cosines: sums of products and logarithms.
void findProductComposites(CompositeContext &context,
                           llvm::ArrayRef<ReduceBroadcast> patterns);
/// Finds functions made of exponentials and logarithms.
void findFunctionComposites(CompositeContext &context);

} // namespace mp

#endif // MPOPT_LIB_PRECISION_PATTERNS_COMPOSITECONTEXT_H
