//===- Passes.h - Passes for data-parallel training -------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_PASSES_DISTRIBUTION_PASSES_H
#define MPOPT_PASSES_DISTRIBUTION_PASSES_H

#include "mp-opt/Dialect/MP/MP.h"
#include "mp-opt/Dialect/ONNX/ONNX.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace mp {

#define GEN_PASS_DECL
#include "Distribution/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "Distribution/Passes.h.inc"

} // namespace mp

#endif // MPOPT_PASSES_DISTRIBUTION_PASSES_H
