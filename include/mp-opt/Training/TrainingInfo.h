//===- TrainingInfo.h - The standard's training_info ------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// ModelProto.training_info holds algorithms, which take values of the inference
// graph by their names, and bindings, which map an initializer to the output of
// an algorithm that is its next value. Gradient, Adam, Momentum and Adagrad are
// operators of ai.onnx.preview.training.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_TRAINING_TRAININGINFO_H
#define MPOPT_TRAINING_TRAININGINFO_H

#include "mp-opt/Dialect/ONNX/GraphEditor.h"
#include "mp-opt/Graph/NodeBuilder.h"

namespace mp {

/// Moves every algorithm of the module into its main graph, in order, and
/// erases the entries. Bound initializers become inputs with defaults and an
/// `mp.update`, whose group is the entry's number; the algorithm's inputs
/// become the graph's. Undefined names are errors.
mlir::LogicalResult inlineTraining(mlir::ModuleOp module, NodeBuilder &builder);

/// Replaces Gradient nodes of the main graph by the nodes that compute the
/// gradients, each followed by an `mp.gradient`.
mlir::LogicalResult expandGradients(onnxir::GraphOp graph,
                                    NodeBuilder &builder);

/// Replaces the optimizers of ai.onnx.preview.training by standard ops.
mlir::LogicalResult expandOptimizers(onnxir::GraphOp graph,
                                     NodeBuilder &builder);

} // namespace mp

#endif // MPOPT_TRAINING_TRAININGINFO_H
