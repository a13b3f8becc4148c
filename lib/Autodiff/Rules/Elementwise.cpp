//===- Elementwise.cpp - Gradients of elementwise arithmetic --------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Rules for operators with several operands, which broadcast, and for operators
// without a derivative, or whose derivative is zero wherever it exists.
//
//===----------------------------------------------------------------------===//

#include "../Rules.h"

using namespace mlir;
using namespace mp::onnxir;

namespace mp {

static LogicalResult addRule(NodeAdjoint &op) {
  for (unsigned index : {0, 1})
    if (op.wants(index))
      op.set(index, op.b.sumTo(op.grad(), op.in(index), op.in(1 - index)));
  return success();
}

static LogicalResult subRule(NodeAdjoint &op) {
  if (op.wants(0))
    op.set(0, op.b.sumTo(op.grad(), op.in(0), op.in(1)));
  if (op.wants(1))
    op.set(1, op.b.neg(op.b.sumTo(op.grad(), op.in(1), op.in(0))));
  return success();
}

static LogicalResult mulRule(NodeAdjoint &op) {
  for (unsigned index : {0, 1})
    if (op.wants(index))
      op.set(index, op.b.sumTo(op.b.mul(op.grad(), op.in(1 - index)),
                               op.in(index), op.in(1 - index)));
  return success();
}

/// dA = dY / B, and dB = -dA * Y, which avoids a square of B that could
/// overflow.
static LogicalResult divRule(NodeAdjoint &op) {
  Value quotient = op.b.div(op.grad(), op.in(1));
  if (op.wants(0))
    op.set(0, op.b.sumTo(quotient, op.in(0), op.in(1)));
  if (op.wants(1))
    op.set(1, op.b.neg(op.b.sumTo(op.b.mul(quotient, op.out()), op.in(1),
                                  op.in(0))));
  return success();
}

/// Y = A - B * q with a whole number q, whose derivative is zero.
static LogicalResult modRule(NodeAdjoint &op) {
  if (op.wants(0))
    op.set(0, op.b.sumTo(op.grad(), op.in(0), op.in(1)));
  if (op.wants(1)) {
    Value whole = op.b.div(op.b.sub(op.out(), op.in(0)), op.in(1));
    op.set(1, op.b.sumTo(op.b.mul(op.grad(), whole), op.in(1), op.in(0)));
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Pow
//===----------------------------------------------------------------------===//

/// B * A^(B - 1), which is 0 for B = 0 and any A.
static Value differentiateBase(NodeAdjoint &op, Value base, Value exponent) {
  if (auto known = getConstantFloat(op.in(1))) {
    if (*known == 1)
      return op.b.fullLike(1, base);
    if (*known == 2)
      return op.b.scale(base, 2);
    if (*known != 0)
      return op.b.scale(
          op.b.create("Pow", {base, op.b.scalarLike(*known - 1, base)}),
          *known);
  }
  Value power = op.b.create("Pow", {base, op.b.addScalar(exponent, -1)});
  Value isZero = op.b.create("Equal", {exponent, op.b.scalarLike(0, exponent)});
  return op.b.where(isZero, op.b.scalarLike(0, base),
                    op.b.mul(exponent, power));
}

/// Y * log(A), which is 0 for A = 0 and B >= 0.
static Value differentiateExponent(NodeAdjoint &op, Value base,
                                   Value exponent) {
  NodeBuilder &b = op.b;
  Value zero = b.scalarLike(0, base);
  Value isZero =
      b.create("And", {b.create("Equal", {base, zero}),
                       b.create("GreaterOrEqual", {exponent, zero})});
  return b.where(isZero, zero, b.mul(op.out(), b.create("Log", {base})));
}

static LogicalResult powRule(NodeAdjoint &op) {
  Value base = op.in(0), exponent = op.b.castLike(op.in(1), base);
  if (op.wants(0)) {
    Value slope = differentiateBase(op, base, exponent);
    op.set(0, op.b.sumTo(op.b.mul(op.grad(), slope), base, exponent));
  }
  if (op.wants(1)) {
    Value slope = differentiateExponent(op, base, exponent);
    Value sum = op.b.sumTo(op.b.mul(op.grad(), slope), op.in(1), base);
    op.set(1, op.b.castLike(sum, op.in(1)));
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Any number of operands
//===----------------------------------------------------------------------===//

static LogicalResult sumRule(NodeAdjoint &op) {
  for (unsigned index = 0; index < op.getNumOperands(); ++index)
    if (op.wants(index))
      op.set(index, op.b.sumTo(op.grad(), op.in(index)));
  return success();
}

static LogicalResult meanRule(NodeAdjoint &op) {
  unsigned count = op.getNumOperands();
  Value share = op.b.scale(op.grad(), 1.0 / count);
  for (unsigned index = 0; index < count; ++index)
    if (op.wants(index))
      op.set(index, op.b.sumTo(share, op.in(index)));
  return success();
}

/// Max and Min: the operands that have the result's value share its gradient.
static LogicalResult extremumRule(NodeAdjoint &op) {
  NodeBuilder &b = op.b;
  SmallVector<Value> isEqual, counts;
  for (Value operand : op.getNode()->getOperands()) {
    isEqual.push_back(b.create("Equal", {operand, op.out()}));
    counts.push_back(b.castLike(isEqual.back(), op.grad()));
  }
  Value share = counts.size() == 1 ? op.grad()
                                   : b.div(op.grad(), b.create("Sum", counts));
  Value zero = b.scalarLike(0, share);
  for (auto [index, mask] : llvm::enumerate(isEqual))
    if (op.wants(index))
      op.set(index, b.sumTo(b.where(mask, share, zero), op.in(index)));
  return success();
}

//===----------------------------------------------------------------------===//
// Choices
//===----------------------------------------------------------------------===//

static LogicalResult whereRule(NodeAdjoint &op) {
  Value zero = op.b.scalarLike(0, op.grad());
  if (op.wants(1))
    op.set(1, op.b.sumTo(op.b.where(op.in(0), op.grad(), zero), op.in(1)));
  if (op.wants(2))
    op.set(2, op.b.sumTo(op.b.where(op.in(0), zero, op.grad()), op.in(2)));
  return success();
}

/// 1 where `a` is greater, 0 where `b` is, and 1/2 where they are equal.
static Value weigh(NodeAdjoint &op, Value a, Value b) {
  Value isGreater = op.b.create("Greater", {a, b});
  Value isNotLess = op.b.create("GreaterOrEqual", {a, b});
  Value sum = op.b.add(op.b.castLike(isGreater, op.grad()),
                       op.b.castLike(isNotLess, op.grad()));
  return op.b.scale(sum, 0.5);
}

/// Min(Max(X, low), high). If bounds are fixed, elements at a bound pass the
/// gradient; bounds that have a gradient themselves share it, as operands of
/// Max do.
static LogicalResult clipRule(NodeAdjoint &op) {
  NodeBuilder &b = op.b;
  Value x = op.in(0), low = op.in(1), high = op.in(2), grad = op.grad();
  auto split = [&](unsigned bound, Value weight) {
    Value rest = b.sub(b.scalarLike(1, weight), weight);
    if (op.wants(bound))
      op.set(bound, b.sumTo(b.mul(grad, rest), op.in(bound)));
    grad = b.mul(grad, weight);
  };
  if (op.wants(1) || op.wants(2)) {
    if (high)
      split(2, weigh(op, high, low ? b.create("Max", {x, low}) : x));
    if (low)
      split(1, weigh(op, x, low));
    op.set(0, grad);
    return success();
  }
  Value isInside;
  if (low)
    isInside = b.create("Greater", {x, low});
  if (high) {
    Value isBelow = b.create("Less", {x, high});
    isInside = isInside ? b.create("And", {isInside, isBelow}) : isBelow;
  }
  op.set(0, isInside ? b.where(isInside, grad, b.scalarLike(0, x)) : grad);
  return success();
}

static LogicalResult castRule(NodeAdjoint &op) {
  op.set(0, op.b.castLike(op.grad(), op.in(0)));
  return success();
}

static LogicalResult identityRule(NodeAdjoint &op) {
  op.set(0, op.grad());
  return success();
}

/// start, start + delta, start + 2 * delta ...
static LogicalResult rangeRule(NodeAdjoint &op) {
  if (op.wants(0))
    op.set(0, op.b.reduceSum(op.grad(), {}, /*keepDims=*/false));
  if (op.wants(2)) {
    Value size = op.b.squeeze(op.b.shapeOf(op.grad()), 0);
    Value steps =
        op.b.create("Range", {op.b.intScalar(0), size, op.b.intScalar(1)});
    Value product = op.b.mul(op.grad(), op.b.castLike(steps, op.grad()));
    op.set(2, op.b.reduceSum(product, {}, /*keepDims=*/false));
  }
  return success();
}

static constexpr GradientRule elementwiseGradients[] = {
    {"Add", addRule},
    {"Bernoulli", nullptr},
    {"Cast", castRule},
    {"CastLike", castRule},
    {"Ceil", nullptr},
    {"Clip", clipRule},
    {"Div", divRule},
    {"EyeLike", nullptr},
    {"Floor", nullptr},
    {"Hardmax", nullptr},
    {"Identity", identityRule},
    {"Max", extremumRule},
    {"Mean", meanRule},
    {"Min", extremumRule},
    {"Mod", modRule},
    {"Mul", mulRule},
    {"Pow", powRule},
    {"RandomNormalLike", nullptr},
    {"RandomUniformLike", nullptr},
    {"Range", rangeRule},
    {"Round", nullptr},
    {"Sign", nullptr},
    {"Sub", subRule},
    {"Sum", sumRule},
    {"Where", whereRule}};

ArrayRef<GradientRule> getElementwiseGradients() {
  return elementwiseGradients;
}

} // namespace mp
