//===- Normalization.cpp - Gradients of normalizations --------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Statistics are fp32 for 16-bit values. Results of the forward node are used
// if they have this precision; other statistics are computed again.
//
//===----------------------------------------------------------------------===//

#include "../Rules.h"
#include "../Sizes.h"
#include "mp-opt/Autodiff/NormGradients.h"

using namespace mlir;
using namespace mp::onnxir;

namespace mp {

static LogicalResult failOnRank(NodeAdjoint &op) {
  return op.fail("the rank of its operand is unknown");
}

/// Sets a gradient that was computed in wide precision.
static void setNarrow(NodeAdjoint &op, unsigned index, Value value) {
  if (op.wants(index))
    op.set(index, op.b.castLike(value, op.in(index)));
}

//===----------------------------------------------------------------------===//
// Batches
//===----------------------------------------------------------------------===//

/// Uses statistics of the batch, which depend on X. They are computed again
/// rather than kept: the forward node has no result for them.
static LogicalResult trainedBatchNorm(NodeAdjoint &op, int64_t rank,
                                      double epsilon) {
  SmallVector<int64_t> axes = axesBesideChannels(rank);
  Value x = widen(op.b, op.in(0));
  Normalization norm = normalize(op.b, x, axes, epsilon);
  Operation *made = op.b.createNode(
      "com.microsoft.BatchNormalizationGrad",
      {op.grad(), op.in(0), op.in(1), op.b.squeeze(norm.mean, axes),
       op.b.squeeze(norm.factor, axes)},
      {op.in(0).getType(), op.in(1).getType(), op.in(2).getType()},
      op.b.floatAttr("epsilon", epsilon));
  for (unsigned index : {0, 1, 2})
    op.set(index, made->getResult(index));
  return success();
}

/// Uses statistics that are ordinary operands.
static LogicalResult fixedBatchNorm(NodeAdjoint &op, int64_t rank,
                                    double epsilon) {
  SmallVector<int64_t> axes = axesBesideChannels(rank);
  Value grad = widen(op.b, op.grad()), scale = widen(op.b, op.in(1));
  Value variance = widen(op.b, op.in(4));
  Value factor = op.b.create(
      "Reciprocal", {op.b.create("Sqrt", {op.b.addScalar(variance, epsilon)})});
  Value slope = op.b.mul(scale, op.b.castLike(factor, scale));
  if (op.wants(0))
    setNarrow(
        op, 0,
        op.b.mul(grad, alongChannels(op.b, op.b.castLike(slope, grad), rank)));
  if (!llvm::any_of(ArrayRef<unsigned>{1, 2, 3, 4},
                    [&](unsigned index) { return op.wants(index); }))
    return success();
  Value sum = op.b.reduceSum(grad, axes, /*keepDims=*/false);
  setNarrow(op, 2, sum);
  if (op.wants(3))
    setNarrow(op, 3, op.b.neg(op.b.mul(sum, op.b.castLike(slope, sum))));
  if (!op.wants(1) && !op.wants(4))
    return success();
  Value mean = op.b.castLike(op.in(3), grad);
  Value centered =
      op.b.sub(widen(op.b, op.in(0)), alongChannels(op.b, mean, rank));
  Value product = op.b.reduceSum(op.b.mul(grad, centered), axes, false);
  Value scaled = op.b.mul(product, op.b.castLike(factor, product));
  setNarrow(op, 1, scaled);
  if (op.wants(4)) {
    // d (v + e)^(-1/2) = -1/2 (v + e)^(-3/2) dv
    Value square = op.b.mul(slope, op.b.castLike(factor, slope));
    setNarrow(
        op, 4,
        op.b.scale(op.b.mul(scaled, op.b.castLike(square, scaled)), -0.5));
  }
  return success();
}

static LogicalResult batchNormRule(NodeAdjoint &op) {
  // Running statistics carry no gradients.
  if (!op.grad())
    return success();
  auto rank = NodeBuilder::getRank(op.in(0));
  if (!rank || *rank < 2)
    return op.fail("expected an operand of known rank, 2 or more");
  double epsilon = op.getFloat("epsilon");
  return op.getFlag("training_mode") ? trainedBatchNorm(op, *rank, epsilon)
                                     : fixedBatchNorm(op, *rank, epsilon);
}

//===----------------------------------------------------------------------===//
// Instances and groups
//===----------------------------------------------------------------------===//

static LogicalResult instanceNormRule(NodeAdjoint &op) {
  auto rank = NodeBuilder::getRank(op.in(0));
  if (!rank || *rank < 3)
    return op.fail("expected an operand of known rank, 3 or more");
  Value grad = widen(op.b, op.grad());
  Normalization norm = normalize(op.b, widen(op.b, op.in(0)),
                                 axesFrom(2, *rank), op.getFloat("epsilon"));
  Value scale = alongChannels(op.b, widen(op.b, op.in(1)), *rank);
  if (op.wants(0))
    setNarrow(op, 0, getNormGradient(op.b, norm, op.b.mul(grad, scale)));
  SmallVector<int64_t> axes = axesBesideChannels(*rank);
  if (op.wants(1))
    setNarrow(op, 1,
              op.b.reduceSum(op.b.mul(grad, norm.normalized), axes, false));
  if (op.wants(2))
    setNarrow(op, 2, op.b.reduceSum(grad, axes, false));
  return success();
}

/// Channels are N x group x rest. Until opset 21, scale and bias have one
/// element per group, later one per channel.
static LogicalResult groupNormRule(NodeAdjoint &op) {
  auto rank = NodeBuilder::getRank(op.in(0));
  int64_t groups = op.getInt("num_groups");
  if (!rank || *rank < 3 || groups < 1)
    return op.fail("expected an operand of known rank, 3 or more");
  bool perChannel = op.getVersion() >= 21;
  SmallVector<int64_t> grouped{0, groups, -1};
  Value grad = widen(op.b, op.grad());
  Normalization norm =
      normalize(op.b, op.b.reshape(widen(op.b, op.in(0)), grouped), 2,
                op.getFloat("epsilon"));
  // Reshapes to the form of scale and bias.
  auto spread = [&](Value value) {
    return perChannel ? op.b.reshapeLike(value, op.in(0))
                      : op.b.reshape(value, grouped);
  };
  int64_t spreadRank = perChannel ? *rank : 3;
  Value scale = alongChannels(op.b, widen(op.b, op.in(1)), spreadRank);
  Value spreadGrad = perChannel ? grad : op.b.reshape(grad, grouped);
  if (op.wants(0)) {
    Value scaled = op.b.reshape(op.b.mul(spreadGrad, scale), grouped);
    setNarrow(op, 0,
              op.b.reshapeLike(getNormGradient(op.b, norm, scaled), op.in(0)));
  }
  SmallVector<int64_t> axes = axesBesideChannels(spreadRank);
  if (op.wants(1))
    setNarrow(op, 1,
              op.b.reduceSum(op.b.mul(spreadGrad, spread(norm.normalized)),
                             axes, false));
  if (op.wants(2))
    setNarrow(op, 2, op.b.reduceSum(spreadGrad, axes, false));
  return success();
}

//===----------------------------------------------------------------------===//
// Without parameters
//===----------------------------------------------------------------------===//

static LogicalResult meanVarianceRule(NodeAdjoint &op) {
  // The definition divides by the deviation + 1e-9, which is negligible.
  Normalization norm =
      normalize(op.b, widen(op.b, op.in(0)), op.getInts("axes"), 1e-18);
  setNarrow(op, 0, getNormGradient(op.b, norm, widen(op.b, op.grad())));
  return success();
}

static LogicalResult lpNormRule(NodeAdjoint &op) {
  SmallVector<int64_t> axis{op.axis()};
  bool isSum = op.getInt("p") == 1;
  Value x = widen(op.b, op.in(0)), y = widen(op.b, op.out());
  Value grad = widen(op.b, op.grad());
  Value size = isSum ? op.b.create("Abs", {x}) : op.b.mul(x, x);
  Value norm = op.b.reduceSum(size, axis, /*keepDims=*/true);
  if (!isSum)
    norm = op.b.create("Sqrt", {norm});
  Value share = op.b.reduceSum(op.b.mul(grad, y), axis, true);
  Value direction = isSum ? op.b.create("Sign", {x}) : y;
  Value rest = op.b.sub(grad, op.b.mul(direction, share));
  // Vectors of zeros have no direction.
  Value isZero = op.b.create("Equal", {norm, op.b.scalarLike(0, norm)});
  Value safe = op.b.where(isZero, op.b.scalarLike(1, norm), norm);
  setNarrow(op, 0,
            op.b.where(isZero, op.b.scalarLike(0, rest), op.b.div(rest, safe)));
  return success();
}

/// One where the column's channel is in the window around the row's channel:
/// (size-1)/2 channels before it, size/2 after it.
static Value makeBand(NodeAdjoint &op, Value like, int64_t size) {
  SizeMath math(op.b);
  Value channels = math.range(math.of(op.in(0), 1));
  Value offset =
      op.b.sub(op.b.unsqueeze(channels, 0), op.b.unsqueeze(channels, 1));
  Value isInside = op.b.create(
      "And",
      {op.b.create("GreaterOrEqual", {offset, op.b.ints(-((size - 1) / 2))}),
       op.b.create("LessOrEqual", {offset, op.b.ints(size / 2)})});
  return op.b.castLike(isInside, like);
}

/// y = x s^-beta with s = bias + alpha / size * the sum of squares of channels
/// around.
static LogicalResult lrnRule(NodeAdjoint &op) {
  auto rank = NodeBuilder::getRank(op.in(0));
  int64_t size = op.getInt("size");
  if (!rank || *rank < 2 || size < 1)
    return failOnRank(op);
  double alpha = op.getFloat("alpha"), beta = op.getFloat("beta");
  Value x = op.b.reshape(widen(op.b, op.in(0)), {0, 0, -1});
  Value grad = op.b.reshape(widen(op.b, op.grad()), {0, 0, -1});
  Value band = makeBand(op, x, size);
  Value sums = op.b.addScalar(
      op.b.scale(op.b.matmul(band, op.b.mul(x, x)), alpha / double(size)),
      op.getFloat("bias"));
  Value factor = op.b.create("Pow", {sums, op.b.scalarLike(-beta, sums)});
  Value inner = op.b.div(op.b.mul(op.b.mul(grad, x), factor), sums);
  Value around = op.b.matmul(op.b.transpose(band, {1, 0}), inner);
  Value indirect =
      op.b.scale(op.b.mul(x, around), -2 * alpha * beta / double(size));
  Value sum = op.b.add(op.b.mul(grad, factor), indirect);
  setNarrow(op, 0, op.b.reshapeLike(sum, op.in(0)));
  return success();
}

static constexpr GradientRule normalizationGradients[] = {
    {"BatchNormalization", batchNormRule},
    {"GroupNormalization", groupNormRule},
    {"InstanceNormalization", instanceNormRule},
    {"LRN", lrnRule},
    {"LpNormalization", lpNormRule},
    {"MeanVarianceNormalization", meanVarianceRule}};

ArrayRef<GradientRule> getNormalizationGradients() {
  return normalizationGradients;
}

} // namespace mp
