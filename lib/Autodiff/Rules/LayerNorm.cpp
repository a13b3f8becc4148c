//===- LayerNorm.cpp - Gradients of layer normalizations ------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// LayerNormalizationGrad reads the statistics that the forward node yields, in
// fp32. It does not support scales and biases that are broadcast.
//
//===----------------------------------------------------------------------===//

#include "../Rules.h"
#include "mp-opt/Autodiff/NormGradients.h"

using namespace mlir;
using namespace mp::onnxir;

namespace mp {

namespace {

/// The operands and the normalized axes.
struct LayerNorm {
  int64_t rank, axis;
  SmallVector<int64_t> axes;
  double epsilon;
};

} // namespace

static std::optional<LayerNorm> readLayerNorm(NodeAdjoint &op) {
  auto rank = NodeBuilder::getRank(op.in(0));
  auto axis = rank ? op.axisIn(*rank) : std::nullopt;
  if (!axis)
    return std::nullopt;
  return LayerNorm{*rank, *axis, axesFrom(*axis, *rank),
                   op.getFloat("epsilon")};
}

static LogicalResult failOnAxis(NodeAdjoint &op) {
  return op.fail("expected an operand of known rank, and an axis of it");
}

/// True if a parameter has an element for each normalized one of X.
static bool isWhole(NodeAdjoint &op, Value parameter, const LayerNorm &norm) {
  auto x = cast<RankedTensorType>(op.in(0).getType());
  auto type = dyn_cast<RankedTensorType>(parameter.getType());
  if (!type || type.getRank() != norm.rank - norm.axis)
    return false;
  for (int64_t index = 0; index < type.getRank(); ++index) {
    int64_t size = type.getDimSize(index);
    int64_t whole = x.getDimSize(norm.axis + index);
    // Known sizes other than 1 must be those of X, which may be unknown.
    if (size != whole && (size == ShapedType::kDynamic || size == 1))
      return false;
    if (size == ShapedType::kDynamic)
      return false;
  }
  return true;
}

/// The type of statistics in fp32: that of X with size 1 for normalized axes.
static Type getStatisticsType(NodeAdjoint &op, const LayerNorm &norm) {
  auto x = cast<RankedTensorType>(op.in(0).getType());
  SmallVector<int64_t> shape(x.getShape());
  std::fill(shape.begin() + norm.axis, shape.end(), 1);
  return RankedTensorType::get(shape, Float32Type::get(op.b.getContext()));
}

/// Mean and inverse deviation from the forward node, if it yields them in fp32;
/// otherwise they are computed again.
static Normalization findStatistics(NodeAdjoint &op, const LayerNorm &norm) {
  Value x = widen(op.b, op.in(0));
  if (!x.getType().isF32() && !getTensorElementType(x.getType()).isF32())
    return normalize(op.b, x, norm.axes, norm.epsilon);
  if (op.getInt("stash_type") != 1)
    return normalize(op.b, x, norm.axes, norm.epsilon);
  Type type = getStatisticsType(op, norm);
  Normalization found{norm.axes, true, {}, {}, {}};
  found.factor = op.require(2, type);
  found.mean = op.require(1, type);
  return found;
}

/// Writes gradients of X, and of scale and bias if these are broadcast.
static void writeLayerNorm(NodeAdjoint &op, const Normalization &norm) {
  Value grad = widen(op.b, op.grad());
  Value scaled = op.b.mul(grad, widen(op.b, op.in(1)));
  if (op.wants(0))
    op.set(0, op.b.castLike(getNormGradient(op.b, norm, scaled), op.in(0)));
  if (op.wants(1)) {
    Value product = op.b.mul(grad, norm.normalized);
    op.set(1, op.b.castLike(op.b.sumTo(product, op.in(1), op.in(0)), op.in(1)));
  }
  if (op.wants(2))
    op.set(2, op.b.castLike(op.b.sumTo(grad, op.in(2), op.in(0)), op.in(2)));
}

static void completeNorm(NodeAdjoint &op, Normalization &norm) {
  if (!norm.normalized)
    norm = normalizeBy(op.b, widen(op.b, op.in(0)), norm.axes, norm.mean,
                       norm.factor);
}

/// Adds the gradients that arrive at the results Mean and InvStdDev.
static void addStatisticsGradients(NodeAdjoint &op, Normalization &norm) {
  Value x = op.in(0);
  for (unsigned index : {1, 2}) {
    Value grad = op.grad(index);
    if (!grad || !op.wants(0))
      continue;
    completeNorm(op, norm);
    grad = op.b.castLike(grad, norm.normalized);
    Value part = op.b.expandLike(grad, norm.normalized);
    // d (v + e)^(-1/2) = -(v + e)^(-3/2) (x - m) / n dx
    if (index == 2)
      part = op.b.neg(op.b.mul(
          op.b.mul(grad, op.b.mul(norm.factor, norm.factor)), norm.normalized));
    Value ones = op.b.fullLike(1, norm.normalized);
    Value count = op.b.reduceSum(ones, norm.axes, /*keepDims=*/true);
    op.set(0, op.b.castLike(op.b.div(part, count), x));
  }
}

static LogicalResult layerNormRule(NodeAdjoint &op) {
  auto layer = readLayerNorm(op);
  if (!layer)
    return failOnAxis(op);
  Value statistics[] = {op.grad(1), op.grad(2)};
  Normalization norm = findStatistics(op, *layer);
  if (statistics[0] || statistics[1])
    addStatisticsGradients(op, norm);
  if (!op.grad())
    return success();
  if (!isWhole(op, op.in(1), *layer)) {
    completeNorm(op, norm);
    writeLayerNorm(op, norm);
    return success();
  }
  bool hasWholeBias = op.has(2) && isWhole(op, op.in(2), *layer);
  Type scaleType = op.in(1).getType();
  Operation *made =
      op.b.createNode("com.microsoft.LayerNormalizationGrad",
                      {op.grad(), op.in(0), op.in(1), norm.mean, norm.factor},
                      {op.in(0).getType(), scaleType,
                       hasWholeBias ? op.in(2).getType() : scaleType},
                      {op.b.attr("axis", layer->axis),
                       op.b.floatAttr("epsilon", layer->epsilon)});
  op.set(0, made->getResult(0));
  op.set(1, made->getResult(1));
  if (hasWholeBias)
    op.set(2, made->getResult(2));
  else if (op.wants(2))
    op.set(2, op.b.sumTo(op.grad(), op.in(2), op.in(0)));
  return success();
}

/// y = x * factor * scale, with no mean and no bias.
static LogicalResult rmsNormRule(NodeAdjoint &op) {
  auto layer = readLayerNorm(op);
  if (!layer)
    return failOnAxis(op);
  Normalization norm = normalize(op.b, widen(op.b, op.in(0)), layer->axes,
                                 layer->epsilon, /*subtractsMean=*/false);
  if (!isWhole(op, op.in(1), *layer)) {
    writeLayerNorm(op, norm);
    return success();
  }
  Operation *made =
      op.b.createNode("com.microsoft.SimplifiedLayerNormalizationGrad",
                      {op.grad(), op.in(0), op.in(1), norm.factor},
                      {op.in(0).getType(), op.in(1).getType()},
                      {op.b.attr("axis", layer->axis),
                       op.b.floatAttr("epsilon", layer->epsilon)});
  op.set(0, made->getResult(0));
  op.set(1, made->getResult(1));
  return success();
}

static constexpr GradientRule layerNormGradients[] = {
    {"LayerNormalization", layerNormRule},
    {"RMSNormalization", rmsNormRule},
    {"SimplifiedLayerNormalization", rmsNormRule}};

ArrayRef<GradientRule> getLayerNormGradients() { return layerNormGradients; }

} // namespace mp
