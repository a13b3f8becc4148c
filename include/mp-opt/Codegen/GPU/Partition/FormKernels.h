//===- FormKernels.h - A model as groups of one kernel each -----*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_CODEGEN_GPU_PARTITION_FORMKERNELS_H
#define MPOPT_CODEGEN_GPU_PARTITION_FORMKERNELS_H

#include "mlir/IR/BuiltinOps.h"

namespace mp {

/// Divides the ops of `main` into `device.group`s. Between them are places in
/// memory, constants, and loads of memory that nothing writes any more. Fails,
/// after a diagnostic for each reason, if a size is unknown or an op has no
/// form on a device.
mlir::LogicalResult formKernels(mlir::ModuleOp module);

} // namespace mp

#endif // MPOPT_CODEGEN_GPU_PARTITION_FORMKERNELS_H
