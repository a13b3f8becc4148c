//===- SplitReductions.h - Long reductions in two stages --------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_CODEGEN_GPU_PARTITION_SPLITREDUCTIONS_H
#define MPOPT_CODEGEN_GPU_PARTITION_SPLITREDUCTIONS_H

#include "mlir/IR/BuiltinOps.h"

namespace mp {

/// Makes two groups of each `reduce` group of `main` whose blocks are too few
/// for its points: pieces are reduced to places at the end of the arena, and
/// these to the results. The same sizes give the same pieces. Contractions with
/// few tiles and a long sum become partial products and their sum; partial
/// products take up to `maxPartialBytes` at one time.
void splitReductions(mlir::ModuleOp module, int64_t maxPartialBytes);

} // namespace mp

#endif // MPOPT_CODEGEN_GPU_PARTITION_SPLITREDUCTIONS_H
