//===- Activation.cpp - Gradients of activation functions -----------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// At kinks the gradient is the same as torch's.
//
//===----------------------------------------------------------------------===//

#include "../Rules.h"

#include <cmath>

using namespace mlir;

namespace mp {

/// Computes the gradient by an op of the training vocabulary with the operands
/// (dY, `kept`).
static LogicalResult byOp(NodeAdjoint &op, StringRef name, Value kept,
                          ArrayRef<NamedAttribute> attributes = {}) {
  op.set(0, op.b.create(("com.microsoft." + name).str(), {op.grad(), kept},
                        attributes, op.in(0).getType()));
  return success();
}

/// Passes the gradient where `mask` is true, else `otherwise`, by default zero.
static LogicalResult only(NodeAdjoint &op, Value mask, Value otherwise = {}) {
  if (!otherwise)
    otherwise = op.b.scalarLike(0, op.grad());
  op.set(0, op.b.where(mask, op.grad(), otherwise));
  return success();
}

static Value isGreater(NodeAdjoint &op, Value value, double bound) {
  return op.b.create("Greater", {value, op.b.scalarLike(bound, value)});
}

//===----------------------------------------------------------------------===//
// Piecewise linear
//===----------------------------------------------------------------------===//

static LogicalResult reluRule(NodeAdjoint &op) {
  // The result is as good as the operand, and is kept anyway.
  return byOp(op, "ReluGrad", op.out());
}

static LogicalResult leakyReluRule(NodeAdjoint &op) {
  double alpha = op.getFloat("alpha");
  // The result has the sign of the operand.
  if (alpha >= 0)
    return byOp(op, "LeakyReluGrad", op.out(), op.b.floatAttr("alpha", alpha));
  return only(op, isGreater(op, op.in(0), 0), op.b.scale(op.grad(), alpha));
}

static LogicalResult preluRule(NodeAdjoint &op) {
  Value isPositive = isGreater(op, op.in(0), 0);
  if (op.wants(0))
    op.set(0, op.b.where(isPositive, op.grad(), op.b.mul(op.grad(), op.in(1))));
  if (op.wants(1)) {
    Value part = op.b.where(isPositive, op.b.scalarLike(0, op.grad()),
                            op.b.mul(op.grad(), op.in(0)));
    op.set(1, op.b.sumTo(part, op.in(1), op.in(0)));
  }
  return success();
}

static LogicalResult thresholdedReluRule(NodeAdjoint &op) {
  return only(op, isGreater(op, op.in(0), op.getFloat("alpha")));
}

static LogicalResult hardSigmoidRule(NodeAdjoint &op) {
  Value isBelow = op.b.create("Less", {op.out(), op.b.scalarLike(1, op.out())});
  Value isInside = op.b.create("And", {isGreater(op, op.out(), 0), isBelow});
  op.set(0, op.b.where(isInside, op.b.scale(op.grad(), op.getFloat("alpha")),
                       op.b.scalarLike(0, op.grad())));
  return success();
}

static LogicalResult shrinkRule(NodeAdjoint &op) {
  return only(
      op, isGreater(op, op.b.create("Abs", {op.in(0)}), op.getFloat("lambd")));
}

/// x * min(1, max(0, x / 6 + 1/2)): x / 3 + 1/2 in between.
static LogicalResult hardSwishRule(NodeAdjoint &op) {
  Value slope = op.b.addScalar(op.b.scale(op.in(0), 1.0 / 3), 0.5);
  Value isBelow = op.b.create("Less", {op.in(0), op.b.scalarLike(3, op.in(0))});
  Value inner = op.b.where(isBelow, op.b.mul(op.grad(), slope), op.grad());
  op.set(0, op.b.where(isGreater(op, op.in(0), -3), inner,
                       op.b.scalarLike(0, op.grad())));
  return success();
}

//===----------------------------------------------------------------------===//
// Exponential
//===----------------------------------------------------------------------===//

static LogicalResult eluRule(NodeAdjoint &op) {
  Value slope =
      op.b.scale(op.b.create("Exp", {op.in(0)}), op.getFloat("alpha"));
  return only(op, isGreater(op, op.in(0), 0), op.b.mul(op.grad(), slope));
}

static LogicalResult seluRule(NodeAdjoint &op) {
  double alpha = op.getFloat("alpha");
  double gamma = op.getFloat("gamma");
  Value slope =
      op.b.where(isGreater(op, op.in(0), 0), op.b.scalarLike(gamma, op.in(0)),
                 op.b.scale(op.b.create("Exp", {op.in(0)}), alpha * gamma));
  op.set(0, op.b.mul(op.grad(), slope));
  return success();
}

static LogicalResult celuRule(NodeAdjoint &op) {
  Value ratio = op.b.scale(op.in(0), 1 / op.getFloat("alpha"));
  Value slope = op.b.create("Exp", {ratio});
  return only(op, isGreater(op, op.in(0), 0), op.b.mul(op.grad(), slope));
}

static LogicalResult sigmoidRule(NodeAdjoint &op) {
  return byOp(op, "SigmoidGrad", op.out());
}

static LogicalResult tanhRule(NodeAdjoint &op) {
  return byOp(op, "TanhGrad", op.out());
}

static LogicalResult softplusRule(NodeAdjoint &op) {
  op.set(0, op.b.mul(op.grad(), op.b.create("Sigmoid", {op.in(0)})));
  return success();
}

/// x / (1 + |x|)
static LogicalResult softsignRule(NodeAdjoint &op) {
  Value sum = op.b.addScalar(op.b.create("Abs", {op.in(0)}), 1);
  op.set(0, op.b.div(op.grad(), op.b.mul(sum, sum)));
  return success();
}

/// x * t with t = tanh(softplus(x)): t + x * sigmoid(x) * (1 - t^2).
static LogicalResult mishRule(NodeAdjoint &op) {
  NodeBuilder &b = op.b;
  Value x = op.in(0);
  Value t = b.create("Tanh", {b.create("Softplus", {x})});
  Value rest = b.sub(b.scalarLike(1, x), b.mul(t, t));
  Value inner = b.mul(b.mul(x, b.create("Sigmoid", {x})), rest);
  op.set(0, b.mul(op.grad(), b.add(t, inner)));
  return success();
}

//===----------------------------------------------------------------------===//
// x times a sigmoid of x
//===----------------------------------------------------------------------===//

static LogicalResult geluRule(NodeAdjoint &op) {
  bool isFast = op.getString("approximate") == "tanh";
  return byOp(op, isFast ? "FastGeluGrad" : "GeluGrad", op.in(0));
}

static LogicalResult swishRule(NodeAdjoint &op) {
  return byOp(op, "QuickGeluGrad", op.in(0),
              op.b.floatAttr("alpha", op.getFloat("alpha")));
}

static LogicalResult quickGeluRule(NodeAdjoint &op) {
  return byOp(op, "QuickGeluGrad", op.in(0),
              op.b.floatAttr("alpha", op.getFloat("alpha")));
}

/// `name`(dY, X, B) is the gradient of X + B.
static LogicalResult biasRule(NodeAdjoint &op, StringRef name) {
  Value sum =
      op.b.create(("com.microsoft." + name).str(),
                  {op.grad(), op.in(0), op.in(1)}, {}, op.out().getType());
  for (unsigned index : {0, 1})
    if (op.wants(index))
      op.set(index, op.b.sumTo(sum, op.in(index), op.in(1 - index)));
  return success();
}

static LogicalResult biasGeluRule(NodeAdjoint &op) {
  return biasRule(op, "BiasGeluGrad_dX");
}

static LogicalResult fastGeluRule(NodeAdjoint &op) {
  return op.has(1) ? biasRule(op, "BiasFastGeluGrad_dX")
                   : byOp(op, "FastGeluGrad", op.in(0));
}

static constexpr GradientRule activationGradients[] = {
    {"Celu", celuRule},
    {"Elu", eluRule},
    {"Gelu", geluRule},
    {"HardSigmoid", hardSigmoidRule},
    {"HardSwish", hardSwishRule},
    {"LeakyRelu", leakyReluRule},
    {"Mish", mishRule},
    {"PRelu", preluRule},
    {"Relu", reluRule},
    {"Selu", seluRule},
    {"Shrink", shrinkRule},
    {"Sigmoid", sigmoidRule},
    {"Softplus", softplusRule},
    {"Softsign", softsignRule},
    {"Swish", swishRule},
    {"Tanh", tanhRule},
    {"ThresholdedRelu", thresholdedReluRule},
    {"com.microsoft.BiasGelu", biasGeluRule},
    {"com.microsoft.FastGelu", fastGeluRule},
    {"com.microsoft.Gelu", geluRule},
    {"com.microsoft.QuickGelu", quickGeluRule}};

ArrayRef<GradientRule> getActivationGradients() { return activationGradients; }

} // namespace mp
