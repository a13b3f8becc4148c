//===- Passes.h - Passes from models to code --------------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_PASSES_LOWERING_PASSES_H
#define MPOPT_PASSES_LOWERING_PASSES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace mp {

#define GEN_PASS_DECL
#include "Lowering/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "Lowering/Passes.h.inc"

} // namespace mp

#endif // MPOPT_PASSES_LOWERING_PASSES_H
