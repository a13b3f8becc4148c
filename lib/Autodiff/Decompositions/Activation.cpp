//===- Activation.cpp - Gradients of activations in standard ops ----------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Decomposes gradients of activations, and activations of com.microsoft.
//
//===----------------------------------------------------------------------===//

#include "../DecompositionTables.h"

#include <cmath>

using namespace mlir;

namespace mp {

/// Replaces the result by `dY` where `value` is positive, else by `otherwise`.
static void selectPositive(NodeDecomposition &op, Value otherwise) {
  Value isPositive =
      op.b.create("Greater", {op.in(1), op.b.scalarLike(0, op.in(1))});
  op.replace(op.b.where(isPositive, op.in(0), otherwise));
}

/// ReluGrad(dY, X): X may be the operand of Relu or its result.
static LogicalResult reluGrad(NodeDecomposition &op) {
  selectPositive(op, op.b.scalarLike(0, op.in(0)));
  return success();
}

/// LeakyReluGrad(dY, Y)
static LogicalResult leakyReluGrad(NodeDecomposition &op) {
  double alpha = op.getFloat("alpha");
  selectPositive(op, op.b.scale(op.in(0), alpha));
  return success();
}

static Value oneMinus(NodeDecomposition &op, Value value) {
  return op.b.sub(op.b.scalarLike(1, value), value);
}

/// SigmoidGrad(dY, Y)
static LogicalResult sigmoidGrad(NodeDecomposition &op) {
  Value y = op.wide(1);
  op.replace(op.b.mul(op.wide(0), op.b.mul(y, oneMinus(op, y))));
  return success();
}

/// TanhGrad(dY, Y)
static LogicalResult tanhGrad(NodeDecomposition &op) {
  Value y = op.wide(1);
  op.replace(op.b.mul(op.wide(0), oneMinus(op, op.b.mul(y, y))));
  return success();
}

//===----------------------------------------------------------------------===//
// Gelu: x times the normal distribution's cumulative function
//===----------------------------------------------------------------------===//

/// (1 + erf(x / sqrt 2)) / 2
static Value getCumulative(NodeDecomposition &op, Value x) {
  Value erf = op.b.create("Erf", {op.b.scale(x, std::sqrt(0.5))});
  return op.b.scale(op.b.addScalar(erf, 1), 0.5);
}

static Value getGeluSlope(NodeDecomposition &op, Value x) {
  Value bell = op.b.create("Exp", {op.b.scale(op.b.mul(x, x), -0.5)});
  Value density = op.b.scale(bell, 1 / std::sqrt(2 * M_PI));
  return op.b.add(getCumulative(op, x), op.b.mul(x, density));
}

/// The approximation of erf(x / sqrt 2): tanh(a * (x + c * x^3)).
static constexpr double cubic = 0.044715;
static double getLinear() { return std::sqrt(2 / M_PI); }

static Value getTanh(NodeDecomposition &op, Value x) {
  Value factor = op.b.addScalar(op.b.scale(op.b.mul(x, x), cubic * getLinear()),
                                getLinear());
  return op.b.create("Tanh", {op.b.mul(x, factor)});
}

static Value getFastGeluSlope(NodeDecomposition &op, Value x) {
  Value tanh = getTanh(op, x);
  Value inner = op.b.addScalar(
      op.b.scale(op.b.mul(x, x), 3 * cubic * getLinear()), getLinear());
  Value bend = op.b.mul(oneMinus(op, op.b.mul(tanh, tanh)), op.b.mul(x, inner));
  return op.b.scale(op.b.add(op.b.addScalar(tanh, 1), bend), 0.5);
}

/// The operand X, plus B if there is one.
static Value getArgument(NodeDecomposition &op, unsigned index) {
  Value x = op.wide(index);
  return op.has(index + 1) ? op.b.add(x, op.wide(index + 1)) : x;
}

/// GeluGrad(dY, X), BiasGeluGrad_dX(dY, X, B)
static LogicalResult geluGrad(NodeDecomposition &op) {
  op.replace(op.b.mul(op.wide(0), getGeluSlope(op, getArgument(op, 1))));
  return success();
}

/// FastGeluGrad(dY, X), BiasFastGeluGrad_dX(dY, X, B)
static LogicalResult fastGeluGrad(NodeDecomposition &op) {
  op.replace(op.b.mul(op.wide(0), getFastGeluSlope(op, getArgument(op, 1))));
  return success();
}

/// QuickGeluGrad(dY, X): the gradient of x * s with s = sigmoid(alpha * x).
static LogicalResult quickGeluGrad(NodeDecomposition &op) {
  Value scaled = op.b.scale(op.wide(1), op.getFloat("alpha"));
  Value sigmoid = op.b.create("Sigmoid", {scaled});
  Value rest = op.b.addScalar(op.b.mul(scaled, oneMinus(op, sigmoid)), 1);
  op.replace(op.b.mul(op.wide(0), op.b.mul(sigmoid, rest)));
  return success();
}

/// Gelu(X), BiasGelu(A, B)
static LogicalResult gelu(NodeDecomposition &op) {
  Value x = getArgument(op, 0);
  op.replace(op.b.mul(x, getCumulative(op, x)));
  return success();
}

/// FastGelu(X, bias)
static LogicalResult fastGelu(NodeDecomposition &op) {
  Value x = getArgument(op, 0);
  Value sum = op.b.addScalar(getTanh(op, x), 1);
  op.replace(op.b.mul(op.b.scale(x, 0.5), sum));
  return success();
}

static LogicalResult quickGelu(NodeDecomposition &op) {
  Value x = op.wide(0);
  Value scaled = op.b.scale(x, op.getFloat("alpha"));
  op.replace(op.b.mul(x, op.b.create("Sigmoid", {scaled})));
  return success();
}

static constexpr Decomposition activationDecompositions[] = {
    {"com.microsoft.BiasFastGeluGrad_dX", fastGeluGrad},
    {"com.microsoft.BiasGelu", gelu},
    {"com.microsoft.BiasGeluGrad_dX", geluGrad},
    {"com.microsoft.FastGelu", fastGelu},
    {"com.microsoft.FastGeluGrad", fastGeluGrad},
    {"com.microsoft.Gelu", gelu},
    {"com.microsoft.GeluGrad", geluGrad},
    {"com.microsoft.LeakyReluGrad", leakyReluGrad},
    {"com.microsoft.QuickGelu", quickGelu},
    {"com.microsoft.QuickGeluGrad", quickGeluGrad},
    {"com.microsoft.ReluGrad", reluGrad},
    {"com.microsoft.SigmoidGrad", sigmoidGrad},
    {"com.microsoft.TanhGrad", tanhGrad}};

ArrayRef<Decomposition> getActivationDecompositions() {
  return activationDecompositions;
}

} // namespace mp
