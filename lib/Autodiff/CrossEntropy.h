//===- CrossEntropy.h - Of losses by labels ---------------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// All losses here are a weighted sum of -log_prob at the labels: what differs
// is the axis of the classes, where weights come from, and what is ignored.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_AUTODIFF_CROSSENTROPY_H
#define MPOPT_LIB_AUTODIFF_CROSSENTROPY_H

#include "mp-opt/Graph/NodeBuilder.h"
#include "mp-opt/Operators/NodeView.h"

namespace mp {

struct CrossEntropy {
  /// Has the attributes reduction and ignore_index.
  NodeView node;
  /// The gradient of the loss, and its operands; `weights` may be null.
  mlir::Value grad, logProb, labels, weights;
  /// A label that does not count, as an operand: it takes the place of the
  /// attribute.
  mlir::Value ignored = {};
  /// From the end if negative. The rank of logProb must be known.
  int64_t classAxis = 1;
  /// Weights belong to labels, rather than to classes.
  bool weighsLabels = false;
};

/// An error of `node` unless `scores` are known to have the axis of classes.
mlir::LogicalResult checkClasses(const NodeView &node, mlir::Value scores,
                                 int64_t classAxis);
/// How much the loss grows with -log_prob of each label, with a size of 1 for
/// the classes; fp32 for 16-bit values.
mlir::Value getLabelSlope(NodeBuilder &b, const CrossEntropy &loss);
/// Whether each element of logProb is that of the label.
mlir::Value matchLabels(NodeBuilder &b, const CrossEntropy &loss);
/// The gradient of the scores whose log-softmax logProb is.
mlir::Value getScoresGradient(NodeBuilder &b, const CrossEntropy &loss);
/// The loss itself.
mlir::Value getLoss(NodeBuilder &b, const CrossEntropy &loss);

} // namespace mp

#endif // MPOPT_LIB_AUTODIFF_CROSSENTROPY_H
