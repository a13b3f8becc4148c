//===- LossScaling.h - Scaling a loss, and skipping bad steps ---*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Small gradients vanish in fp16. The start of the backward pass is multiplied
// by a scale, which scales all gradients; they are divided by it where they
// leave the backward pass, in fp32. If a gradient is not finite, the step is
// skipped and the scale reduced; after a number of finite steps it grows.
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
  /// The scale, or the scale of the first step.
  double initial = 65536;
  double growthFactor = 2, backoffFactor = 0.5;
  int64_t growthInterval = 2000, hysteresis = 1;
  double floor = 1, cap = 16777216;

  /// Parses "none", a number, or "dynamic" with settings after a colon:
  /// "dynamic:init=1024,growth-interval=100". Fails for other settings, and for
  /// a scale that is not positive and finite in fp32.
  llvm::Error parse(llvm::StringRef text);
};

/// The losses and gradients of a graph that trains.
struct TrainingGraph {
  /// The starts of backward passes: gradients of losses by themselves.
  llvm::SmallVector<mlir::Value> seeds;
  /// The uses of finished gradients: operands of `mp.gradient`, or of nodes
  /// that accumulate gradients in place.
  llvm::SmallVector<mlir::OpOperand *> gradients;
  /// True if gradients go into buffers: the optimizer is in another model.
  bool accumulates = false;
  /// A flag that is true when an accumulation starts; null if none does.
  mlir::Value startsWindow;
};

/// True if the gradients of the graph are outputs, and nothing else reads them.
bool leavesGradients(onnxir::GraphOp graph);

/// Finds losses and gradients. `mp.gradient` and `mp.loss_seed` are used if the
/// graph has them. Otherwise they are found by dataflow, as in onnxruntime's
/// training graphs: gradients are operands of operators whose schema puts them
/// into a buffer, and the seed is the constant on which all of them depend.
/// Without gradients the result is empty; a result may have gradients and no
/// seed.
TrainingGraph findTraining(onnxir::GraphOp graph);
/// The error for gradients without a seed.
inline constexpr llvm::StringLiteral noSeed =
    "no constant is found that all of them are multiples of, where the "
    "backward pass starts";

/// Scales the losses of the graph. States become inputs and outputs. Fails,
/// with an error, without a seed or if a gradient is not fp32.
mlir::LogicalResult scaleLosses(onnxir::GraphOp graph, NodeBuilder &builder,
                                const TrainingGraph &training,
                                const LossScale &settings);

/// Makes optimizers that take gradients and an update signal (by the names in
/// their schemas), but have no signal, keep their states if a gradient is not
/// finite. True if there is such an optimizer.
bool guardOptimizers(onnxir::GraphOp graph, NodeBuilder &builder);

} // namespace mp

#endif // MPOPT_TRAINING_LOSSSCALING_H
