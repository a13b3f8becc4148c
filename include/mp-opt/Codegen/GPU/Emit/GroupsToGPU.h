//===- GroupsToGPU.h - Groups as functions for a GPU ------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_CODEGEN_GPU_EMIT_GROUPSTOGPU_H
#define MPOPT_CODEGEN_GPU_EMIT_GROUPSTOGPU_H

#include "mlir/IR/BuiltinOps.h"

namespace mp {

/// Replaces each `device.group` by a `device.launch` of a `gpu.func` in
/// `gpu.module @kernels`; equal groups share a function. Fails after a
/// diagnostic for each op that has no code for devices.
mlir::LogicalResult convertGroupsToGPU(mlir::ModuleOp module);

} // namespace mp

#endif // MPOPT_CODEGEN_GPU_EMIT_GROUPSTOGPU_H
