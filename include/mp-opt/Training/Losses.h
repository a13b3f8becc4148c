//===- Losses.h - Losses that a training step may have ----------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each is the mean over the batch, as in torch:
//
//   softmax-cross-entropy  of scores [N, C, ...] and classes int64 [N, ...]
//   nll                    of log-probabilities, and classes likewise
//   mse                    of any output and a target of its shape
//   bce                    of logits and a target of their shape; of
//                          probabilities where they are a Sigmoid's result,
//                          whose operand then counts
//   output:NAME            what the model computes already
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_TRAINING_LOSSES_H
#define MPOPT_TRAINING_LOSSES_H

#include "mp-opt/Dialect/ONNX/GraphEditor.h"
#include "mp-opt/Target/ONNX/NodeBuilder.h"

namespace mp {

struct LossRequest {
  /// "mse", or "mse:NAME" of the graph output NAME; "output:NAME".
  std::string kind;
  /// The axis of the classes, for those losses that have classes.
  int64_t classAxis = 1;
};

/// Adds the loss, and an input `labels` unless there is one, to the end of the
/// graph. The loss becomes the first output. Fails with an error at the graph.
mlir::FailureOr<mlir::Value> addLoss(onnxir::GraphOp graph,
                                     NodeBuilder &builder,
                                     const LossRequest &request);

/// Names of the losses, for messages.
std::string getLossNames();

} // namespace mp

#endif // MPOPT_TRAINING_LOSSES_H
