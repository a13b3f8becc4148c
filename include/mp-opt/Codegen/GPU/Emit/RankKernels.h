//===- RankKernels.h - Kernels that ranks reduce with -----------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Ranks whose devices reach each other reduce there: they copy their values to
// one place, exchange them, and add them up, in the order of ranks. The values
// that `main` reduces are known when it is compiled, the number of ranks is
// not: the run time launches these kernels itself (Runtime/RankKernels.def).
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_CODEGEN_GPU_EMIT_RANKKERNELS_H
#define MPOPT_CODEGEN_GPU_EMIT_RANKKERNELS_H

#include "mlir/IR/BuiltinOps.h"

namespace mp {

/// Adds these kernels to `gpu.module @kernels` if `main` has reductions.
void addRankKernels(mlir::ModuleOp module);

} // namespace mp

#endif // MPOPT_CODEGEN_GPU_EMIT_RANKKERNELS_H
