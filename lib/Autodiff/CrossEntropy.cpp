//===- CrossEntropy.cpp - Cross-entropy losses ----------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CrossEntropy.h"
#include "mp-opt/Autodiff/NormGradients.h"

#include "Sizes.h"

using namespace mlir;
using namespace mp::onnxir;

namespace mp {

LogicalResult checkClasses(const NodeView &node, Value scores,
                           int64_t classAxis) {
  auto rank = NodeBuilder::getRank(scores);
  if (!rank)
    return node.fail("the rank of its scores is unknown");
  return *rank > std::max<int64_t>(classAxis, 0)
             ? success()
             : node.fail("its scores have no axis of classes");
}

static int64_t getClassAxis(const CrossEntropy &loss) {
  return loss.classAxis < 0
             ? loss.classAxis + *NodeBuilder::getRank(loss.logProb)
             : loss.classAxis;
}

/// The ignored label; null if there is none.
static Value getIgnored(NodeBuilder &b, const CrossEntropy &loss) {
  Value ignored = loss.ignored;
  if (!ignored) {
    if (!loss.node.states("ignore_index"))
      return {};
    ignored = b.intScalar(loss.node.getInt("ignore_index"));
  }
  return b.castLike(ignored, loss.labels);
}

/// The labels, with a size of 1 for the classes.
static Value spreadLabels(NodeBuilder &b, const CrossEntropy &loss,
                          Value labels) {
  return b.unsqueeze(labels, getClassAxis(loss));
}

/// The weight of each label, 0 if it is ignored; null if all are 1.
static Value getWeights(NodeBuilder &b, const CrossEntropy &loss,
                        Type elementType) {
  Value ignored = getIgnored(b, loss);
  Value isIgnored =
      ignored ? b.create("Equal", {loss.labels, ignored}) : Value();
  Value one = b.scalar(1, elementType), zero = b.scalar(0, elementType);
  if (!loss.weights)
    return isIgnored ? b.where(isIgnored, zero, one) : Value();
  Value weights = b.castTo(loss.weights, elementType);
  if (!loss.weighsLabels) {
    // Ignored labels need not be classes.
    Value first = b.castLike(b.intScalar(0), loss.labels);
    Value labels =
        isIgnored ? b.where(isIgnored, first, loss.labels) : loss.labels;
    weights = b.gather(weights, labels, 0);
  }
  return isIgnored ? b.where(isIgnored, zero, weights) : weights;
}

static bool isMean(const CrossEntropy &loss) {
  return loss.node.getString("reduction") == "mean";
}

/// The divisor of the mean; 1 if no label counts.
static Value getTotal(NodeBuilder &b, const CrossEntropy &loss, Value weights,
                      Type elementType) {
  if (!weights)
    return b.castTo(b.create("Size", {loss.labels}), elementType);
  Value sum = b.reduceSum(weights, {}, /*keepDims=*/false);
  Value isZero = b.create("Equal", {sum, b.scalar(0, elementType)});
  return b.where(isZero, b.scalar(1, elementType), sum);
}

Value getLabelSlope(NodeBuilder &b, const CrossEntropy &loss) {
  Value slope = widen(b, loss.grad);
  Type element = getTensorElementType(slope.getType());
  Value weights = getWeights(b, loss, element);
  if (isMean(loss))
    slope = b.div(slope, getTotal(b, loss, weights, element));
  if (weights)
    slope = b.mul(slope, weights);
  // A scalar broadcasts to any shape.
  return weights || loss.node.getString("reduction") == "none"
             ? spreadLabels(b, loss, slope)
             : slope;
}

Value matchLabels(NodeBuilder &b, const CrossEntropy &loss) {
  SizeMath math(b);
  int64_t axis = getClassAxis(loss);
  int64_t rank = *NodeBuilder::getRank(loss.logProb);
  Value classes = math.range(math.of(loss.logProb, axis));
  SmallVector<int64_t> after =
      llvm::to_vector(llvm::seq<int64_t>(1, rank - axis));
  return b.create("Equal",
                  {spreadLabels(b, loss, loss.labels),
                   b.castLike(b.unsqueeze(classes, after), loss.labels)});
}

Value getScoresGradient(NodeBuilder &b, const CrossEntropy &loss) {
  Value prob = b.create("Exp", {widen(b, loss.logProb)});
  Value target = b.castLike(matchLabels(b, loss), prob);
  return b.mul(b.sub(prob, target), getLabelSlope(b, loss));
}

Value getLoss(NodeBuilder &b, const CrossEntropy &loss) {
  Value logProb = widen(b, loss.logProb);
  Type element = getTensorElementType(logProb.getType());
  Value chosen = b.where(matchLabels(b, loss), logProb, b.scalar(0, element));
  Value losses =
      b.neg(b.reduceSum(chosen, getClassAxis(loss), /*keepDims=*/false));
  Value weights = getWeights(b, loss, element);
  if (weights)
    losses = b.mul(losses, weights);
  if (loss.node.getString("reduction") == "none")
    return losses;
  Value sum = b.reduceSum(losses, {}, /*keepDims=*/false);
  return isMean(loss) ? b.div(sum, getTotal(b, loss, weights, element)) : sum;
}

} // namespace mp
