//===- Losses.h - Losses that a training step may have ----------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each is what the function of that name in torch.nn.functional computes, with
// its defaults:
//
//   softmax-cross-entropy  of scores [N, C, ...] and classes int64 [N, ...]
//   nll                    of log-probabilities, and classes likewise
//   mse, l1, smooth-l1, huber
//                          of any output and a target of its shape
//   bce-with-logits        of logits and a target of their shape
//   bce                    of probabilities that are a Sigmoid's result, whose
//                          operand then counts; anything else is taken for
//                          logits
//   kl-div                 of log-probabilities and a target of probabilities
//   output:NAME            what the model computes already
//
// What torch does by default and these do not: no label is ignored unless
// `ignore-index` says so.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_TRAINING_LOSSES_H
#define MPOPT_TRAINING_LOSSES_H

#include "mp-opt/Dialect/ONNX/GraphEditor.h"
#include "mp-opt/Graph/NodeBuilder.h"

#include "llvm/Support/Error.h"

namespace mp {

/// Outputs of a training step: the loss, and what it is a sum of.
inline constexpr llvm::StringLiteral lossName = "loss";
inline constexpr llvm::StringLiteral lossPartPrefix = "loss.";

struct LossKind;

struct LossRequest {
  /// As it was given, for messages.
  std::string text;
  const LossKind *kind = nullptr;
  /// The graph output that the loss is of; empty for the first float one.
  std::string output;
  /// The input that it is compared with; empty for the usual name, else it is
  /// no other value of the model.
  std::string labels;
  bool namesLabels = false;
  /// The axis of the classes, for those losses that have classes.
  int64_t classAxis = 1;
  /// Its share in the sum of several losses.
  double weight = 1;
  /// "mean", "sum"; "batchmean" is the sum over the size of the batch.
  std::string reduction = "mean";
  /// The label of what does not count.
  std::optional<int64_t> ignoreIndex;
  double labelSmoothing = 0;
  /// Where smooth-l1 (beta) and huber (delta) turn from square to linear.
  double beta = 1, delta = 1;
  /// Of each class; empty for ones.
  std::vector<double> weights;
  /// Of targets that are one, by places of the last axis or one for all.
  std::vector<double> posWeight;

  /// `text` is KIND[:OUTPUT][:key=value,...], maybe in braces. What follows the
  /// kind is an output as a whole where `outputs` has its name. Fails for
  /// kinds, keys and values that do not exist, and for files that cannot be
  /// read.
  llvm::Error parse(llvm::StringRef text, int64_t classAxis,
                    llvm::ArrayRef<std::string> outputs);
};

/// Adds the losses, and inputs `labels`, `labels_2`, ... unless there are some,
/// to the end of the graph. Their sum becomes the first output, called `loss`;
/// where it is not the one loss itself, that of each comes behind it. Each of
/// `texts` is a LossRequest. Fails with an error at the graph.
mlir::FailureOr<mlir::Value> addLosses(onnxir::GraphOp graph,
                                       NodeBuilder &builder,
                                       llvm::ArrayRef<std::string> texts,
                                       int64_t classAxis);

/// Names of the losses, for messages.
std::string getLossNames();

} // namespace mp

#endif // MPOPT_TRAINING_LOSSES_H
