//===- Parameters.h - Inputs that a training step keeps ---------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_GRAPH_PARAMETERS_H
#define MPOPT_GRAPH_PARAMETERS_H

#include "mp-opt/Dialect/ONNX/ONNX.h"

#include "llvm/ADT/StringSet.h"

namespace mp {

/// Graph inputs that hold trainable parameters or the defaults of
/// initializers: values that take the type their users want. In a graph that
/// accumulates gradients in place, an input shaped like a gradient buffer is a
/// parameter.
llvm::DenseSet<mlir::Value> collectParameters(onnxir::GraphOp graph);

/// The initializers that are defaults of graph inputs, by their inputs.
llvm::DenseMap<mlir::Value, mlir::Operation *>
collectDefaults(onnxir::GraphOp graph);

/// Every string in the training entries of a model: the names that they take
/// from the main graph are among them.
llvm::StringSet<> collectTrainingNames(mlir::ModuleOp module);

} // namespace mp

#endif // MPOPT_GRAPH_PARAMETERS_H
