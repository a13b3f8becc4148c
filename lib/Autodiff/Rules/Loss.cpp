//===- Loss.cpp - Gradients of losses -------------------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../CrossEntropy.h"
#include "../Rules.h"

using namespace mlir;
using namespace mp::onnxir;

namespace mp {

/// Copies reduction and ignore_index, which the gradient has too.
static SmallVector<NamedAttribute> copyLossAttributes(NodeAdjoint &op) {
  SmallVector<NamedAttribute> attributes;
  for (StringRef name : {"reduction", "ignore_index"})
    if (Attribute value = op.getNode()->getAttr(name))
      attributes.emplace_back(op.b.getBuilder().getStringAttr(name), value);
  return attributes;
}

/// SoftmaxCrossEntropyLoss(scores, labels, weights) -> loss, log_prob
static LogicalResult crossEntropyRule(NodeAdjoint &op) {
  if (failed(checkClasses(op, op.in(0), 1)))
    return failure();
  // log_prob = scores - log sum exp scores
  Value arriving = op.grad(1);
  Value logProb = op.require(1, op.in(0).getType());
  if (op.grad())
    op.set(0, op.b.create("com.microsoft.SoftmaxCrossEntropyLossGrad",
                          {op.grad(), logProb, op.in(1), op.in(2)},
                          copyLossAttributes(op), op.in(0).getType()));
  if (arriving) {
    Value sum = op.b.reduceSum(arriving, 1, /*keepDims=*/true);
    Value share = op.b.mul(op.b.create("Exp", {logProb}), sum);
    op.set(0, op.b.sub(arriving, share));
  }
  return success();
}

/// NegativeLogLikelihoodLoss(log_prob, labels, weights)
static LogicalResult likelihoodRule(NodeAdjoint &op) {
  if (failed(checkClasses(op, op.in(0), 1)))
    return failure();
  CrossEntropy loss{op.getNode(), op.grad(), op.in(0), op.in(1), op.in(2)};
  loss.classAxis = 1;
  Value slope = getLabelSlope(op.b, loss);
  Value zero = op.b.scalarLike(0, slope);
  Value isLabel = matchLabels(op.b, loss);
  op.set(0,
         op.b.castLike(op.b.where(isLabel, op.b.neg(slope), zero), op.in(0)));
  return success();
}

static constexpr GradientRule lossGradients[] = {
    {"NegativeLogLikelihoodLoss", likelihoodRule},
    {"SoftmaxCrossEntropyLoss", crossEntropyRule}};

ArrayRef<GradientRule> getLossGradients() { return lossGradients; }

} // namespace mp
