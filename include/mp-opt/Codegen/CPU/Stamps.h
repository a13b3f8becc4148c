//===- Stamps.h - When kernels begin and end --------------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_CODEGEN_CPU_STAMPS_H
#define MPOPT_CODEGEN_CPU_STAMPS_H

#include "mlir/IR/BuiltinOps.h"

namespace mp {

/// Puts stamps into the function `main` of buffers: one at its begin, and one
/// behind each op that is going to be a kernel. Says on the module which nodes
/// each of these is for, and what it moves and computes: multiply-adds of
/// 16-bit factors are those of `tensor`. Nothing is said of sizes that are not
/// known.
void insertStamps(mlir::ModuleOp module);

} // namespace mp

#endif // MPOPT_CODEGEN_CPU_STAMPS_H
