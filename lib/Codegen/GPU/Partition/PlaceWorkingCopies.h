//===- PlaceWorkingCopies.h - Memory of 16-bit working copies ---*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_CODEGEN_GPU_PARTITION_PLACEWORKINGCOPIES_H
#define MPOPT_LIB_CODEGEN_GPU_PARTITION_PLACEWORKINGCOPIES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mp {

/// Gives every working copy (`device.shadow`) its memory in the arena, and
/// makes one or a few groups that write all copies after states have been set
/// (`when_set`).
void placeWorkingCopies(mlir::func::FuncOp main);

} // namespace mp

#endif // MPOPT_LIB_CODEGEN_GPU_PARTITION_PLACEWORKINGCOPIES_H
