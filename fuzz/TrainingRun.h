//===- TrainingRun.h - Making a training step of any model ------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_FUZZ_TRAININGRUN_H
#define MPOPT_FUZZ_TRAININGRUN_H

#include "mlir/IR/BuiltinOps.h"

namespace mp::fuzz {

/// Runs the training pipeline: what training_info says where the model has it,
/// else the gradients of a loss with respect to all values from outside that it
/// can be differentiated for, so that as many rules as possible are met. With
/// `half` in fp16, with its loss scaling.
mlir::LogicalResult train(mlir::ModuleOp module, bool half);

} // namespace mp::fuzz

#endif // MPOPT_FUZZ_TRAININGRUN_H
