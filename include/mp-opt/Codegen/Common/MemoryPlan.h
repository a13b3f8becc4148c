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
/// arena, at multiples of `alignment` bytes; those that do not live at the same
/// time share their places, but on a device those of one place, for which
/// kernels would wait. The module's `mp.arena` is its size in bytes.
void planMemory(mlir::ModuleOp module, int64_t alignment, bool forDevice);

/// What a memref is a view of: memory of its own, or what memory planning has
/// handed out.
mlir::Value getRoot(mlir::Value memref);

} // namespace mp

#endif // MPOPT_CODEGEN_COMMON_MEMORYPLAN_H
