//===- SettleMemory.h - Loops that hand on memory ---------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_CODEGEN_GPU_SETTLEMEMORY_H
#define MPOPT_CODEGEN_GPU_SETTLEMEMORY_H

#include "mlir/IR/BuiltinOps.h"

namespace mp {

/// Makes loops and branches of `scf` copy memory to one place that they would
/// otherwise hand on from several places. Types whose sizes are unknown stay.
void settleMemory(mlir::Operation *root);

} // namespace mp

#endif // MPOPT_CODEGEN_GPU_SETTLEMEMORY_H
