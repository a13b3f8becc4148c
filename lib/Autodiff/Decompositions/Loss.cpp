//===- Loss.cpp - Losses and their gradients in standard ops --------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../CrossEntropy.h"
#include "../DecompositionTables.h"
#include "../Sizes.h"
#include "mp-opt/Autodiff/NormGradients.h"

using namespace mlir;
using namespace mp::onnxir;

namespace mp {

//===----------------------------------------------------------------------===//
// Labels
//===----------------------------------------------------------------------===//

/// Gradient(dY, log_prob, labels, weights, ignored label, bias): only some
/// forms have the last operands.
static LogicalResult labelGrad(NodeDecomposition &op, int64_t classAxis,
                               bool weighsLabels) {
  if (failed(checkClasses(op, op.in(1), classAxis)))
    return failure();
  CrossEntropy loss{op.getNode(), op.in(0), op.in(1),  op.in(2),
                    op.in(3),     op.in(4), classAxis, weighsLabels};
  Value gradient = getScoresGradient(op.b, loss);
  if (Value bias = op.in(5))
    gradient = op.b.add(gradient, op.b.castLike(bias, gradient));
  op.replace(gradient);
  return success();
}

static LogicalResult crossEntropyGrad(NodeDecomposition &op) {
  return labelGrad(op, /*classAxis=*/1, /*weighsLabels=*/false);
}

static LogicalResult sparseGrad(NodeDecomposition &op) {
  return labelGrad(op, /*classAxis=*/-1, /*weighsLabels=*/true);
}

/// Loss(scores, labels, weights, ignored label) -> loss, log_prob
static LogicalResult labelLoss(NodeDecomposition &op, int64_t classAxis,
                               bool weighsLabels) {
  if (failed(checkClasses(op, op.in(0), classAxis)))
    return failure();
  Value logProb =
      op.b.create("LogSoftmax", {op.wide(0)}, op.b.attr("axis", classAxis));
  CrossEntropy loss{op.getNode(), {},       logProb,   op.in(1),
                    op.in(2),     op.in(3), classAxis, weighsLabels};
  if (op.wants(0))
    op.replace(0, getLoss(op.b, loss));
  if (op.wants(1))
    op.replace(1, logProb);
  return success();
}

static LogicalResult crossEntropyInternal(NodeDecomposition &op) {
  return labelLoss(op, /*classAxis=*/1, /*weighsLabels=*/false);
}

static LogicalResult sparseLoss(NodeDecomposition &op) {
  return labelLoss(op, /*classAxis=*/-1, /*weighsLabels=*/true);
}

//===----------------------------------------------------------------------===//
// Probabilities
//===----------------------------------------------------------------------===//

/// `value` divided by the number of rows of `scores` if the loss is a mean.
static Value divideByRows(NodeDecomposition &op, Value value, Value scores) {
  if (op.getString("reduction") != "mean")
    return value;
  SizeMath math(op.b);
  int64_t rank = *NodeBuilder::getRank(scores);
  Size rows = 1;
  for (const Size &size : math.from(scores, 0, rank))
    rows = math.mul(rows, size);
  rows = math.div(rows, math.of(scores, rank - 1));
  return op.b.div(value,
                  math.scalar(rows, getTensorElementType(value.getType())));
}

/// SoftmaxCrossEntropy(scores, probabilities) -> loss, log_prob
static LogicalResult probabilityLoss(NodeDecomposition &op) {
  if (failed(checkClasses(op, op.in(0), /*classAxis=*/-1)))
    return failure();
  Value logProb =
      op.b.create("LogSoftmax", {op.wide(0)}, op.b.attr("axis", int64_t(-1)));
  if (op.wants(0)) {
    Value product = op.b.mul(logProb, op.b.castLike(op.in(1), logProb));
    Value sum = op.b.neg(op.b.reduceSum(product, {}, /*keepDims=*/false));
    op.replace(0, divideByRows(op, sum, op.in(0)));
  }
  if (op.wants(1))
    op.replace(1, logProb);
  return success();
}

/// SoftmaxCrossEntropyGrad(dY, log_prob, probabilities)
static LogicalResult probabilityGrad(NodeDecomposition &op) {
  if (failed(checkClasses(op, op.in(1), /*classAxis=*/-1)))
    return failure();
  Value prob = op.b.create("Exp", {op.wide(1)});
  Value slope = divideByRows(op, op.wide(0), op.in(1));
  op.replace(op.b.mul(op.b.sub(prob, op.b.castLike(op.in(2), prob)), slope));
  return success();
}

static constexpr Decomposition lossDecompositions[] = {
    {"SparseSoftmaxCrossEntropy", sparseLoss},
    {"SparseSoftmaxCrossEntropyGrad", sparseGrad},
    {"com.microsoft.SoftmaxCrossEntropy", probabilityLoss},
    {"com.microsoft.SoftmaxCrossEntropyGrad", probabilityGrad},
    {"com.microsoft.SoftmaxCrossEntropyLossGrad", crossEntropyGrad},
    {"com.microsoft.SoftmaxCrossEntropyLossInternal", crossEntropyInternal},
    {"com.microsoft.SoftmaxCrossEntropyLossInternalGrad", crossEntropyGrad},
    {"com.microsoft.SparseSoftmaxCrossEntropy", sparseLoss},
    {"com.microsoft.SparseSoftmaxCrossEntropyGrad", sparseGrad}};

ArrayRef<Decomposition> getLossDecompositions() { return lossDecompositions; }

} // namespace mp
