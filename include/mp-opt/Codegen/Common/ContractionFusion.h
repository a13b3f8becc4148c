//===- ContractionFusion.h - What is done in passing by kernels -*- C++ -*-===//
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

/// Where functions return what arguments that are states become.
using NextStates = llvm::DenseMap<mlir::Value, mlir::OpOperand *>;
NextStates findNextStates(mlir::Operation *root);

/// What contractions may not do in passing.
struct FusionLimits {
  NextStates states;
  /// States in f32 whose updates stay elementwise ops of their own: those that
  /// contractions round, of which a device keeps 16-bit copies.
  llvm::DenseSet<mlir::Value> updatedApart;

  static FusionLimits find(mlir::Operation *root, bool keepsUpdates);
};

/// Of contractions on tensors: transposes and casts in front of one become part
/// of its maps and types, an elementwise op behind it its epilogue; what is
/// sliced away behind it is not computed, nor are taps that read nothing.
/// `limits` outlives the patterns.
void populateContractionFusionPatterns(mlir::RewritePatternSet &patterns,
                                       const FusionLimits &limits);

} // namespace mp

#endif // MPOPT_CODEGEN_COMMON_CONTRACTIONFUSION_H
