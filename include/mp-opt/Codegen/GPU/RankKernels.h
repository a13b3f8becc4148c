//===- RankKernels.h - Kernels that ranks reduce with -----------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Ranks whose devices reach each other reduce there: they copy what they have
// to one place, exchange it, and add it up, in the order of ranks. What `main`
// reduces is known when it is compiled, how many ranks there are is not: the
// run time launches these kernels itself (Runtime/RankKernels.def).
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_CODEGEN_GPU_RANKKERNELS_H
#define MPOPT_CODEGEN_GPU_RANKKERNELS_H

#include "mlir/IR/BuiltinOps.h"

namespace mp {

/// Adds them to `gpu.module @kernels` where `main` has reductions.
void addRankKernels(mlir::ModuleOp module);

} // namespace mp

#endif // MPOPT_CODEGEN_GPU_RANKKERNELS_H
