//===- SplitContracts.h - Long products in two stages -----------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_CODEGEN_GPU_PARTITION_SPLITCONTRACTS_H
#define MPOPT_LIB_CODEGEN_GPU_PARTITION_SPLITCONTRACTS_H

#include "mp-opt/Dialect/Device/DeviceOps.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mp {

/// Splits contractions of groups that have so few tiles that a device would be
/// idle, and a long sum: partial products go to a place in the arena, and a
/// map, which replaces the group, sums these and applies the epilogue. Places
/// take up to `bytes` at the end of the arena; if all of them need more, later
/// products overwrite places whose sums have been computed.
void splitContracts(mlir::func::FuncOp main, int64_t bytes);

} // namespace mp

#endif // MPOPT_LIB_CODEGEN_GPU_PARTITION_SPLITCONTRACTS_H
