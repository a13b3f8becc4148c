//===- Decompositions.h - Finders of decomposed ops -------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_PRECISION_DECOMPOSITIONS_H
#define MPOPT_LIB_PRECISION_DECOMPOSITIONS_H

#include "Statistics.h"
#include "mp-opt/Precision/DecomposedOps.h"

namespace mp {

/// What the finders read. They append units of which nodes may repeat, stand
/// in any order, and be in other units too.
struct UnitContext {
  const ReductionLevels &levels;
  OperatorTraitsCache &kinds;
  std::vector<DecomposedOp> &units;

  void add(llvm::StringRef opType, std::vector<mlir::Operation *> nodes,
           llvm::StringRef domain = "") {
    units.push_back({domain, opType, std::move(nodes)});
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
void findStatisticUnits(UnitContext &context,
                        llvm::ArrayRef<Statistic> statistics);
/// Losses, gradients, cosines: sums of products and logarithms.
void findProductUnits(UnitContext &context,
                      llvm::ArrayRef<Statistic> statistics);
/// Functions made of exponentials and logarithms.
void findFunctionUnits(UnitContext &context);

} // namespace mp

#endif // MPOPT_LIB_PRECISION_DECOMPOSITIONS_H
