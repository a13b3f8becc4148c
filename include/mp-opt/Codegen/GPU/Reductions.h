//===- Reductions.h - Reductions that read once -----------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_CODEGEN_GPU_REDUCTIONS_H
#define MPOPT_CODEGEN_GPU_REDUCTIONS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mp {

/// Computes sums of squared differences from a mean, and the sum for that mean,
/// in one pass over memory: differences are those from the mean of a sample.
/// Sums of rows that `fuseRows` has taken are left alone.
void shiftVariances(mlir::func::FuncOp function);

/// Makes reductions of the same points to the same places, which read a tensor
/// together, one op with several results.
void joinReductions(mlir::func::FuncOp function);

} // namespace mp

#endif // MPOPT_CODEGEN_GPU_REDUCTIONS_H
