//===- ContractionFusion.h - Fusion with contractions -----------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_CODEGEN_COMMON_CONTRACTIONFUSION_H
#define MPOPT_CODEGEN_COMMON_CONTRACTIONFUSION_H

#include "mlir/IR/PatternMatch.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

namespace mp {

/// Maps arguments that are states to the operands by which functions return the
/// next states.
using NextStates = llvm::DenseMap<mlir::Value, mlir::OpOperand *>;
NextStates findNextStates(mlir::Operation *root);

/// Restrictions of the fusion with contractions.
struct FusionLimits {
  NextStates states;
  /// States in f32 whose updates stay elementwise ops of their own: those that
  /// contractions round, of which a device keeps 16-bit copies.
  llvm::DenseSet<mlir::Value> updatedApart;

  static FusionLimits find(mlir::Operation *root, bool keepsUpdates);
};

/// Adds patterns for contractions on tensors. Transposes and casts before one
/// become part of its maps and types, and an elementwise op after it becomes
/// its epilogue. Elements that are sliced away after it are not computed, nor
/// are filter positions that read nothing. `limits` must outlive the patterns.
void populateContractionFusionPatterns(mlir::RewritePatternSet &patterns,
                                       const FusionLimits &limits);

} // namespace mp

#endif // MPOPT_CODEGEN_COMMON_CONTRACTIONFUSION_H
