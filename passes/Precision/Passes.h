//===- Passes.h - Passes that decide and apply precision --------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_PASSES_PRECISION_PASSES_H
#define MPOPT_PASSES_PRECISION_PASSES_H

#include "mp-opt/Dialect/ONNX/ONNX.h"
#include "mp-opt/Precision/Policy/PolicyRequest.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace mp {

#define GEN_PASS_DECL
#include "Precision/Passes.h.inc"

/// Creates the pass with the options of a request. (TableGen only knows options
/// in its own list, not those of PolicyRequest::getFields().)
std::unique_ptr<mlir::Pass> createSetPolicy(const PolicyRequest &request);

#define GEN_PASS_REGISTRATION
#include "Precision/Passes.h.inc"

} // namespace mp

#endif // MPOPT_PASSES_PRECISION_PASSES_H
