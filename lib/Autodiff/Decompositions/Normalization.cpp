//===- Normalization.cpp - Gradients of normalizations in standard ops ----===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../DecompositionTables.h"
#include "mp-opt/Autodiff/NormGradients.h"

using namespace mlir;
using namespace mp::onnxir;

namespace mp {

static LogicalResult failOnRank(NodeDecomposition &op) {
  return op.fail("expected operands of known rank, and an axis of them");
}

//===----------------------------------------------------------------------===//
// Batches
//===----------------------------------------------------------------------===//

/// BatchNormInternal(X, scale, B, mean, var) -> Y, the new running mean and
/// variance, and the batch's mean and inverse deviation.
static LogicalResult batchNormInternal(NodeDecomposition &op) {
  auto rank = NodeBuilder::getRank(op.in(0));
  if (!rank || *rank < 2)
    return failOnRank(op);
  SmallVector<int64_t> axes = axesBesideChannels(*rank);
  Value x = op.wide(0);
  double epsilon = op.getFloat("epsilon");
  double momentum = op.getFloat("momentum");
  Normalization norm = normalize(op.b, x, axes, epsilon);
  if (op.wants(0)) {
    Value scale = alongChannels(op.b, op.b.castLike(op.in(1), x), *rank);
    Value bias = alongChannels(op.b, op.b.castLike(op.in(2), x), *rank);
    op.replace(0, op.b.add(op.b.mul(norm.normalized, scale), bias));
  }
  Value mean = op.b.squeeze(norm.mean, axes);
  Value variance;
  if (op.wants(2)) {
    Value centered = op.b.sub(x, norm.mean);
    variance = op.b.reduceMean(op.b.mul(centered, centered), axes, false);
  }
  for (auto [index, statistic] : {std::pair(1u, mean), std::pair(2u, variance)})
    if (op.wants(index))
      op.replace(index, op.b.add(op.b.scale(op.b.castLike(op.in(index + 2), x),
                                            momentum),
                                 op.b.scale(statistic, 1 - momentum)));
  if (op.wants(3))
    op.replace(3, mean);
  if (op.wants(4))
    op.replace(4, op.b.squeeze(norm.factor, axes));
  return success();
}

/// BatchNormalizationGrad(dY, X, scale, mean, inverse deviation) -> dX, dScale,
/// dBias
static LogicalResult batchNormGrad(NodeDecomposition &op) {
  auto rank = NodeBuilder::getRank(op.in(1));
  if (!rank || *rank < 2)
    return failOnRank(op);
  SmallVector<int64_t> axes = axesBesideChannels(*rank);
  Value grad = op.wide(0), x = op.wide(1);
  auto spread = [&](unsigned index) {
    return alongChannels(op.b, op.b.castLike(op.in(index), x), *rank);
  };
  Normalization norm = normalizeBy(op.b, x, axes, spread(3), spread(4));
  Value sum = op.b.reduceSum(grad, axes, false);
  Value product = op.b.reduceSum(op.b.mul(grad, norm.normalized), axes, false);
  if (op.wants(0))
    op.replace(0, op.b.mul(getNormGradient(op.b, norm, grad), spread(2)));
  if (op.wants(1))
    op.replace(1, product);
  if (op.wants(2))
    op.replace(2, sum);
  return success();
}

//===----------------------------------------------------------------------===//
// Layers
//===----------------------------------------------------------------------===//

/// `axis` of operand `index`, counted from the front, and the rank; absent if
/// the operand has no known rank or no such axis.
static std::optional<std::pair<int64_t, int64_t>>
getAxisAndRank(NodeDecomposition &op, unsigned index) {
  auto rank = NodeBuilder::getRank(op.in(index));
  auto axis = rank ? op.axisIn(*rank) : std::nullopt;
  if (!axis)
    return std::nullopt;
  return std::pair(*axis, *rank);
}

/// Gradients of X, scale and bias; scale and bias have the normalized axes.
static LogicalResult finishLayerNorm(NodeDecomposition &op,
                                     const Normalization &norm, Value grad,
                                     Value scale, int64_t axis) {
  Value scaled = op.b.mul(grad, op.b.castLike(scale, grad));
  if (op.wants(0))
    op.replace(0, getNormGradient(op.b, norm, scaled));
  auto sum = [&](Value value) {
    auto rows = llvm::to_vector(llvm::seq<int64_t>(0, axis));
    Value total = rows.empty() ? value : op.b.reduceSum(value, rows, false);
    // Runtimes also accept the scale as a plain vector.
    return NodeBuilder::getRank(total) == NodeBuilder::getRank(scale)
               ? total
               : op.b.reshapeLike(total, scale);
  };
  if (op.wants(1))
    op.replace(1, sum(op.b.mul(grad, norm.normalized)));
  if (op.wants(2))
    op.replace(2, sum(grad));
  return success();
}

/// LayerNormalizationGrad(dY, X, scale, mean, inverse deviation)
static LogicalResult layerNormGrad(NodeDecomposition &op) {
  auto place = getAxisAndRank(op, 1);
  if (!place)
    return failOnRank(op);
  auto [axis, rank] = *place;
  Value x = op.wide(1);
  Normalization norm =
      normalizeBy(op.b, x, axesFrom(axis, rank), op.b.castLike(op.in(3), x),
                  op.b.castLike(op.in(4), x));
  return finishLayerNorm(op, norm, op.b.castLike(op.in(0), x), op.in(2), axis);
}

/// SimplifiedLayerNormalizationGrad(dY, X, scale, inverse deviation)
static LogicalResult simplifiedLayerNormGrad(NodeDecomposition &op) {
  auto place = getAxisAndRank(op, 1);
  if (!place)
    return failOnRank(op);
  auto [axis, rank] = *place;
  Value x = op.wide(1);
  Normalization norm = normalizeBy(op.b, x, axesFrom(axis, rank), {},
                                   op.b.castLike(op.in(3), x));
  return finishLayerNorm(op, norm, op.b.castLike(op.in(0), x), op.in(2), axis);
}

/// InvertibleLayerNormalizationGrad(dY, Y, scale, bias, inverse deviation): the
/// normalized values follow from the result.
static LogicalResult invertibleLayerNormGrad(NodeDecomposition &op) {
  auto place = getAxisAndRank(op, 1);
  if (!place)
    return failOnRank(op);
  auto [axis, rank] = *place;
  Value y = op.wide(1);
  Value scale = op.b.castLike(op.in(2), y), bias = op.b.castLike(op.in(3), y);
  Normalization norm{axesFrom(axis, rank),
                     /*subtractsMean=*/true,
                     op.b.div(op.b.sub(y, bias), scale),
                     op.b.castLike(op.in(4), y),
                     {}};
  return finishLayerNorm(op, norm, op.b.castLike(op.in(0), y), op.in(2), axis);
}

static constexpr Decomposition normalizationDecompositions[] = {
    {"com.microsoft.BatchNormInternal", batchNormInternal},
    {"com.microsoft.BatchNormalizationGrad", batchNormGrad},
    {"com.microsoft.InvertibleLayerNormalizationGrad", invertibleLayerNormGrad},
    {"com.microsoft.LayerNormalizationGrad", layerNormGrad},
    {"com.microsoft.SimplifiedLayerNormalizationGrad",
     simplifiedLayerNormGrad}};

ArrayRef<Decomposition> getNormalizationDecompositions() {
  return normalizationDecompositions;
}

} // namespace mp
