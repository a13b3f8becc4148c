//===- WorkingCopies.h - 16-bit copies of parameters ------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_CODEGEN_GPU_PARTITION_WORKINGCOPIES_H
#define MPOPT_CODEGEN_GPU_PARTITION_WORKINGCOPIES_H

#include "mlir/IR/BuiltinOps.h"

namespace mp {

/// Products that round a state of `main` in fp32 read a 16-bit working copy of
/// it (`device.shadow`) instead. The op that updates the state writes the copy,
/// too: the same numbers, with half the bytes, copied to shared memory as they
/// are. A state has no copy if any op but an elementwise one writes it, or if
/// no product by tiles reads several of its elements at a time.
void addWorkingCopies(mlir::ModuleOp module);

} // namespace mp

#endif // MPOPT_CODEGEN_GPU_PARTITION_WORKINGCOPIES_H
