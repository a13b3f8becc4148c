//===- JoinColumnSums.h - Sums of columns next to rows ----------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_CODEGEN_GPU_PARTITION_JOINCOLUMNSUMS_H
#define MPOPT_LIB_CODEGEN_GPU_PARTITION_JOINCOLUMNSUMS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mp {

/// Makes reductions over all rows of what a row-wise group of `main` has in
/// registers a part of it: its blocks have several rows each, and leave partial
/// results at the end of the arena, which the group of the reduction combines.
void joinColumnSums(mlir::func::FuncOp main);

} // namespace mp

#endif // MPOPT_LIB_CODEGEN_GPU_PARTITION_JOINCOLUMNSUMS_H
