//===- InferenceMode.h - A model that trains, for inference -----*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_API_RUN_INFERENCEMODE_H
#define MPOPT_API_RUN_INFERENCEMODE_H

#include "mlir/IR/BuiltinOps.h"

namespace mp {

/// Switches nodes from training to inference: Dropout drops nothing, and
/// BatchNormalization uses its running statistics. Returns the number of nodes
/// that were switched.
unsigned useInferenceMode(mlir::ModuleOp module);

} // namespace mp

#endif // MPOPT_API_RUN_INFERENCEMODE_H
