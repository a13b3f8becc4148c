//===- MemoryPlan.h - One piece of memory for all temporaries ---*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_CODEGEN_COMMON_MEMORYPLAN_H
#define MPOPT_CODEGEN_COMMON_MEMORYPLAN_H

#include "mlir/IR/BuiltinOps.h"

namespace mp {

/// Makes buffers of known size that `main` allocates and frees views of one
/// arena, at multiples of `alignment` bytes. Buffers that do not live at the
/// same time share their slices. On a device, buffers of at most `alignment`
/// bytes do not, since kernels would wait for each other, and the result of a
/// map may overwrite an operand that nobody reads later. The module's
/// `mp.arena` is the arena's size in bytes.
void planMemory(mlir::ModuleOp module, int64_t alignment, bool forDevice);

/// The memory that a memref is a view of: memory of its own, or memory that
/// memory planning has handed out.
mlir::Value getRoot(mlir::Value memref);

} // namespace mp

#endif // MPOPT_CODEGEN_COMMON_MEMORYPLAN_H
