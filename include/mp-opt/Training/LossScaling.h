//===- LossScaling.h - Scaling a loss, and skipping bad steps ---*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Small gradients vanish in fp16. The start of the backward pass is multiplied
// by a scale, so that all gradients are, and these are divided by it where
// they leave, in fp32. Where one of them is not finite, the step is skipped and
// the scale reduced; after so many clean steps it grows.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_TRAINING_LOSSSCALING_H
#define MPOPT_TRAINING_LOSSSCALING_H

#include "mp-opt/Dialect/ONNX/GraphEditor.h"
#include "mp-opt/Graph/NodeBuilder.h"

#include "llvm/Support/Error.h"

namespace mp {

struct LossScale {
  enum Mode { None, Static, Dynamic };
  Mode mode = None;
  /// The scale, or the one of the first step.
  double initial = 65536;
  double growthFactor = 2, backoffFactor = 0.5;
  int64_t growthInterval = 2000, hysteresis = 1;
  double floor = 1, cap = 16777216;

  /// "none", a number, or "dynamic" with settings behind a colon:
  /// "dynamic:init=1024,growth-interval=100". Fails for other settings, and
  /// for a scale that is not positive and finite in fp32.
  llvm::Error parse(llvm::StringRef text);
};

/// Where losses and gradients are in a graph that trains.
struct TrainingGraph {
  /// Where backward passes start: gradients of losses by themselves.
  llvm::SmallVector<mlir::Value> seeds;
  /// Where gradients leave: operands of `mp.gradient`, or of nodes that
  /// accumulate gradients in place.
  llvm::SmallVector<mlir::OpOperand *> gradients;
  /// Gradients go into buffers: the optimizer is elsewhere.
  bool accumulates = false;
  /// True where an accumulation starts anew; null if none does.
  mlir::Value startsWindow;
};

/// True if the gradients of the graph are outputs, and nothing else reads them.
bool leavesGradients(onnxir::GraphOp graph);

/// Finds them: `mp.gradient` and `mp.loss_seed` where the graph has these, else
/// by dataflow, as onnxruntime's training graphs have them: operators whose
/// schema takes gradients into a buffer, and the constant one from which all
/// that they take comes. Without gradients the answer is empty; there may be
/// gradients and no seed.
TrainingGraph findTraining(onnxir::GraphOp graph);
/// What is wrong then.
inline constexpr llvm::StringLiteral noSeed =
    "no constant is found that all of them are multiples of, where the "
    "backward pass starts";

/// Scales the losses of the graph. States become inputs and outputs. Fails,
/// with an error, without a seed or if a gradient is not fp32.
mlir::LogicalResult scaleLosses(onnxir::GraphOp graph, NodeBuilder &builder,
                                const TrainingGraph &training,
                                const LossScale &settings);

/// Tells optimizers that take gradients and a signal to update (by the names in
/// their schemas), and have no signal, to leave their states as they are where
/// a gradient is not finite. True if there is one.
bool guardOptimizers(onnxir::GraphOp graph, NodeBuilder &builder);

} // namespace mp

#endif // MPOPT_TRAINING_LOSSSCALING_H
