//===- Losses.h - Losses that a training step may have ----------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each loss is the function of that name in torch.nn.functional, with its
// defaults:
//
//   softmax-cross-entropy  of scores [N, C, ...] and classes int64 [N, ...]
//   nll                    of log-probabilities, and classes likewise
//   mse, l1, smooth-l1, huber
//                          of any output and a target of its shape
//   bce-with-logits        of logits and a target of their shape
//   bce                    of probabilities that are a Sigmoid's result, whose
//                          operand is used; other outputs count as logits
//   kl-div                 of log-probabilities and a target of probabilities
//   output:NAME            a loss that the model computes itself
//
// Unlike torch, which ignores one label by default, these losses ignore no
// label unless `ignore-index` names it.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_TRAINING_LOSSES_H
#define MPOPT_TRAINING_LOSSES_H

#include "mp-opt/Dialect/ONNX/GraphEditor.h"
#include "mp-opt/Graph/NodeBuilder.h"

#include "llvm/Support/Error.h"

namespace mp {

/// Outputs of a training step: the loss, and the parts of its sum.
inline constexpr llvm::StringLiteral lossName = "loss";
inline constexpr llvm::StringLiteral lossPartPrefix = "loss.";

struct LossKind;

struct LossRequest {
  /// The text as it was given, for messages.
  std::string text;
  const LossKind *kind = nullptr;
  /// The graph output that the loss is computed from; empty for the first float
  /// one.
  std::string output;
  /// The input that the output is compared with; empty for the usual name. A
  /// given name must not be that of another value of the model.
  std::string labels;
  bool namesLabels = false;
  /// The axis of the classes, for losses with classes.
  int64_t classAxis = 1;
  /// The weight of this loss in the sum of several losses.
  double weight = 1;
  /// "mean", "sum"; "batchmean" is the sum over the size of the batch.
  std::string reduction = "mean";
  /// The label that is ignored.
  std::optional<int64_t> ignoreIndex;
  double labelSmoothing = 0;
  /// The bound at which smooth-l1 (beta) and huber (delta) become linear.
  double beta = 1, delta = 1;
  /// One weight per class; empty for ones.
  std::vector<double> weights;
  /// Weights of targets that are one: one per index of the last axis, or a
  /// single one for all.
  std::vector<double> posWeight;

  /// Parses KIND[:OUTPUT][:key=value,...], with or without braces. All text
  /// after the kind is an output name if `outputs` contains it. Fails for
  /// kinds, keys and values that do not exist, and for files that cannot be
  /// read.
  llvm::Error parse(llvm::StringRef text, int64_t classAxis,
                    llvm::ArrayRef<std::string> outputs);
};

/// Adds the losses, and inputs `labels`, `labels_2`, ... unless they exist, to
/// the end of the graph. The sum of the losses becomes the first output, called
/// `loss`; if it is not just one loss, the single losses come after it. Each of
/// `texts` is a LossRequest. Fails with an error at the graph.
mlir::FailureOr<mlir::Value> addLosses(onnxir::GraphOp graph,
                                       NodeBuilder &builder,
                                       llvm::ArrayRef<std::string> texts,
                                       int64_t classAxis);

/// Names of the losses, for messages.
std::string getLossNames();

} // namespace mp

#endif // MPOPT_TRAINING_LOSSES_H
