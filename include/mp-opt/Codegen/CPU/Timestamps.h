//===- Timestamps.h - When kernels begin and end ----------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_CODEGEN_CPU_TIMESTAMPS_H
#define MPOPT_CODEGEN_CPU_TIMESTAMPS_H

#include "mlir/IR/BuiltinOps.h"

namespace mp {

/// Inserts timestamps into the function `main` of buffers: one at its begin,
/// and one after each op that becomes a kernel. Attributes of the module list
/// the nodes of each timestamp, and the bytes and operations: multiply-adds of
/// 16-bit factors count as `tensor`. Work of sizes that are not known is left
/// out.
void insertTimestamps(mlir::ModuleOp module);

} // namespace mp

#endif // MPOPT_CODEGEN_CPU_TIMESTAMPS_H
