//===- ShadowWeights.h - 16-bit copies of parameters ------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_CODEGEN_GPU_SHADOWWEIGHTS_H
#define MPOPT_CODEGEN_GPU_SHADOWWEIGHTS_H

#include "mlir/IR/BuiltinOps.h"

namespace mp {

/// Products that round a state of `main` in fp32 read a 16-bit copy of it
/// (`device.shadow`) instead, which what updates the state writes beside it:
/// the same numbers, at half the bytes, copied to shared memory as they are.
/// States that anything but an elementwise op writes, or that no product by
/// tiles reads several elements at a time, stay alone.
void shadowWeights(mlir::ModuleOp module);

} // namespace mp

#endif // MPOPT_CODEGEN_GPU_SHADOWWEIGHTS_H
