//===- MergeGroups.h - Fewer kernels ----------------------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_CODEGEN_GPU_PARTITION_MERGEGROUPS_H
#define MPOPT_CODEGEN_GPU_PARTITION_MERGEGROUPS_H

#include "mlir/IR/BuiltinOps.h"

namespace mp {

/// Merges groups of `main` into fewer kernels: maps over the same points become
/// one, and small independent kernels become parts of one.
void mergeGroups(mlir::ModuleOp module);

} // namespace mp

#endif // MPOPT_CODEGEN_GPU_PARTITION_MERGEGROUPS_H
