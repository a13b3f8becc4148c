//===- CrossEntropy.h - Cross-entropy losses --------------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// All losses here are a weighted sum of -log_prob at the labels. They differ in
// the axis of the classes, the source of weights, and ignored labels.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_AUTODIFF_CROSSENTROPY_H
#define MPOPT_LIB_AUTODIFF_CROSSENTROPY_H

#include "mp-opt/Graph/NodeBuilder.h"
#include "mp-opt/Operators/NodeView.h"

namespace mp {

struct CrossEntropy {
  /// The node with the attributes reduction and ignore_index.
  NodeView node;
  /// The gradient of the loss, and its operands; `weights` may be null.
  mlir::Value grad, logProb, labels, weights;
  /// An operand with the label to ignore, which replaces the attribute.
  mlir::Value ignored = {};
  /// Counted from the end if negative. The rank of logProb must be known.
  int64_t classAxis = 1;
  /// True if there is a weight per label, rather than per class.
  bool weighsLabels = false;
};

/// Emits an error at `node` unless `scores` are known to have the axis of
/// classes.
mlir::LogicalResult checkClasses(const NodeView &node, mlir::Value scores,
                                 int64_t classAxis);
/// The derivative of the loss by -log_prob of each label, with a size of 1 for
/// the classes; fp32 for 16-bit values.
mlir::Value getLabelSlope(NodeBuilder &b, const CrossEntropy &loss);
/// A mask: true for the elements of logProb that belong to the label.
mlir::Value matchLabels(NodeBuilder &b, const CrossEntropy &loss);
/// The gradient of the scores, whose log-softmax is logProb.
mlir::Value getScoresGradient(NodeBuilder &b, const CrossEntropy &loss);
/// The loss itself.
mlir::Value getLoss(NodeBuilder &b, const CrossEntropy &loss);

} // namespace mp

#endif // MPOPT_LIB_AUTODIFF_CROSSENTROPY_H
