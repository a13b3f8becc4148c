//===- TrainingInfo.h - The ONNX standard's training ------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// ModelProto.training_info: algorithms beside the inference graph, which take
// values of that graph by their names, and bindings that say which initializer
// gets which of an algorithm's outputs as its next value. Gradient, Adam,
// Momentum and Adagrad are operators of ai.onnx.preview.training.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_TRAINING_TRAININGINFO_H
#define MPOPT_TRAINING_TRAININGINFO_H

#include "mp-opt/Dialect/ONNX/GraphEditor.h"
#include "mp-opt/Graph/NodeBuilder.h"

namespace mp {

/// Moves every algorithm of the module into its main graph, in order, and
/// erases the entries: initializers that are bound become inputs with defaults
/// and an `mp.update`, whose group is the entry's number; the algorithm's
/// inputs are the graph's. Names that nobody defines are errors.
mlir::LogicalResult inlineTraining(mlir::ModuleOp module, NodeBuilder &builder);

/// Writes Gradient nodes of the main graph as the gradients that they stand
/// for, each behind an `mp.gradient`.
mlir::LogicalResult expandGradients(onnxir::GraphOp graph,
                                    NodeBuilder &builder);

/// Writes the optimizers of ai.onnx.preview.training in standard ops.
mlir::LogicalResult expandOptimizers(onnxir::GraphOp graph,
                                     NodeBuilder &builder);

} // namespace mp

#endif // MPOPT_TRAINING_TRAININGINFO_H
