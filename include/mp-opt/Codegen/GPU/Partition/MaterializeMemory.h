//===- MaterializeMemory.h - Loops that carry memory ------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_CODEGEN_GPU_PARTITION_MATERIALIZEMEMORY_H
#define MPOPT_CODEGEN_GPU_PARTITION_MATERIALIZEMEMORY_H

#include "mlir/IR/BuiltinOps.h"

namespace mp {

/// Allocates one buffer for each memref that loops and branches of `scf` carry
/// or return, and makes these copy to it. Types whose sizes are unknown stay.
void materializeMemory(mlir::Operation *root);

} // namespace mp

#endif // MPOPT_CODEGEN_GPU_PARTITION_MATERIALIZEMEMORY_H
