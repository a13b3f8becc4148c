//===- CompileProgram.h - From a model to a program -------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_PASSES_PIPELINES_COMPILEPROGRAM_H
#define MPOPT_PASSES_PIPELINES_COMPILEPROGRAM_H

#include "mp-opt/Execution/CompileProgress.h"
#include "mp-opt/Execution/DevicePlan.h"
#include "mp-opt/Execution/Program.h"

namespace mp {

/// Facts about a lowered graph.
struct LoweringFigures {
  /// Floating-point operations; absent if sizes are unknown.
  std::optional<double> flops;
  std::vector<DroppedRounding> droppedRoundings;
};

/// Lowers the main graph of `module` to LLVM's dialect, in place, and sets the
/// figures. Fails after a diagnostic; one diagnostic names all operators that
/// have no lowering. `options.target` must be set.
mlir::LogicalResult lowerProgram(mlir::ModuleOp module,
                                 const CompileOptions &options,
                                 const CompileWatch &watch,
                                 LoweringFigures &figures);

/// Plans what a device would do in a call of the main graph of `module`, which
/// is consumed: a plan without code of kernels. `options.target` must be set.
/// Fails after a diagnostic.
mlir::FailureOr<DevicePlan> planProgram(mlir::ModuleOp module,
                                        const CompileOptions &options);

/// The same, with the kernels compiled for `chip` (sm_90a) and counted
/// (KernelCounts.h), for predictions of their time. `options.device` must be
/// CUDA.
mlir::FailureOr<DevicePlan> countProgram(mlir::ModuleOp module,
                                         const CompileOptions &options,
                                         llvm::StringRef chip);

/// Compiles the main graph of `module`, which is consumed, or uses its code in
/// `options.cache`. `options.target` must be set to this machine. Null after a
/// diagnostic.
std::unique_ptr<Program> compileProgram(mlir::ModuleOp module,
                                        const CompileOptions &options);

} // namespace mp

#endif // MPOPT_PASSES_PIPELINES_COMPILEPROGRAM_H
