//===- ShadowPlaces.h - Places of 16-bit copies of states -------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_CODEGEN_GPU_SHADOWPLACES_H
#define MPOPT_LIB_CODEGEN_GPU_SHADOWPLACES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mp {

/// Every `device.shadow` becomes a place in the arena, and all together one
/// group, or a few, that run where states have been set: `when_set`.
void placeShadows(mlir::func::FuncOp main);

} // namespace mp

#endif // MPOPT_LIB_CODEGEN_GPU_SHADOWPLACES_H
