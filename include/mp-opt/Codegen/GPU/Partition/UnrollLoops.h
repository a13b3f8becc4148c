//===- UnrollLoops.h - Loops as launches for each iteration -----*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_CODEGEN_GPU_PARTITION_UNROLLLOOPS_H
#define MPOPT_CODEGEN_GPU_PARTITION_UNROLLLOOPS_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Support/LogicalResult.h"

namespace mp {

/// Unrolls loops of `main` of known trips whose iterations are worth kernels of
/// their own, as long as a plan stays below some thousands of these.
mlir::LogicalResult unrollLoops(mlir::ModuleOp module);

} // namespace mp

#endif // MPOPT_CODEGEN_GPU_PARTITION_UNROLLLOOPS_H
