//===- Parameters.h - Parameters among graph inputs -------------*- C++ -*-===//
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

/// Graph inputs that hold trainable parameters or have initializers as
/// defaults: values whose type may follow their users. In a graph that
/// accumulates gradients in place, an input with the shape of a gradient buffer
/// is a parameter.
llvm::DenseSet<mlir::Value> collectParameters(onnxir::GraphOp graph);

/// The initializers that are defaults of graph inputs, indexed by input.
llvm::DenseMap<mlir::Value, mlir::Operation *>
collectDefaults(onnxir::GraphOp graph);

/// All strings in the training entries of a model, which include the names that
/// they take from the main graph.
llvm::StringSet<> collectTrainingNames(mlir::ModuleOp module);

} // namespace mp

#endif // MPOPT_GRAPH_PARAMETERS_H
