//===- Function.cpp - Gradients of functions of one variable --------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../Rules.h"

#include <cmath>

using namespace mlir;

namespace mp {

/// Sets the gradient to that of the result times `slope`, or divided by it.
static LogicalResult times(NodeAdjoint &op, Value slope) {
  op.set(0, op.b.mul(op.grad(), slope));
  return success();
}
static LogicalResult over(NodeAdjoint &op, Value slope) {
  op.set(0, op.b.div(op.grad(), slope));
  return success();
}

/// 1 - x^2 as a product, which is exact near the ends, where it vanishes.
static Value oneMinusSquare(NodeAdjoint &op) {
  Value one = op.b.scalarLike(1, op.in(0));
  return op.b.mul(op.b.sub(one, op.in(0)), op.b.add(one, op.in(0)));
}

static Value onePlusSquare(NodeAdjoint &op, Value x) {
  return op.b.addScalar(op.b.mul(x, x), 1);
}

static LogicalResult absRule(NodeAdjoint &op) {
  return times(op, op.b.create("Sign", {op.in(0)}));
}

static LogicalResult acosRule(NodeAdjoint &op) {
  return over(op, op.b.neg(op.b.create("Sqrt", {oneMinusSquare(op)})));
}

static LogicalResult acoshRule(NodeAdjoint &op) {
  Value square =
      op.b.mul(op.b.addScalar(op.in(0), -1), op.b.addScalar(op.in(0), 1));
  return over(op, op.b.create("Sqrt", {square}));
}

static LogicalResult asinRule(NodeAdjoint &op) {
  return over(op, op.b.create("Sqrt", {oneMinusSquare(op)}));
}

static LogicalResult asinhRule(NodeAdjoint &op) {
  return over(op, op.b.create("Sqrt", {onePlusSquare(op, op.in(0))}));
}

static LogicalResult atanRule(NodeAdjoint &op) {
  return over(op, onePlusSquare(op, op.in(0)));
}

static LogicalResult atanhRule(NodeAdjoint &op) {
  return over(op, oneMinusSquare(op));
}

static LogicalResult cosRule(NodeAdjoint &op) {
  return times(op, op.b.neg(op.b.create("Sin", {op.in(0)})));
}

static LogicalResult coshRule(NodeAdjoint &op) {
  return times(op, op.b.create("Sinh", {op.in(0)}));
}

static LogicalResult erfRule(NodeAdjoint &op) {
  Value bell = op.b.create("Exp", {op.b.neg(op.b.mul(op.in(0), op.in(0)))});
  return times(op, op.b.scale(bell, 2 / std::sqrt(M_PI)));
}

static LogicalResult expRule(NodeAdjoint &op) { return times(op, op.out()); }

static LogicalResult logRule(NodeAdjoint &op) { return over(op, op.in(0)); }

static LogicalResult negRule(NodeAdjoint &op) {
  op.set(0, op.b.neg(op.grad()));
  return success();
}

static LogicalResult reciprocalRule(NodeAdjoint &op) {
  return times(op, op.b.neg(op.b.mul(op.out(), op.out())));
}

static LogicalResult sinRule(NodeAdjoint &op) {
  return times(op, op.b.create("Cos", {op.in(0)}));
}

static LogicalResult sinhRule(NodeAdjoint &op) {
  return times(op, op.b.create("Cosh", {op.in(0)}));
}

static LogicalResult sqrtRule(NodeAdjoint &op) {
  return over(op, op.b.scale(op.out(), 2));
}

static LogicalResult tanRule(NodeAdjoint &op) {
  return times(op, onePlusSquare(op, op.out()));
}

static constexpr GradientRule functionGradients[] = {
    {"Abs", absRule},     {"Acos", acosRule},
    {"Acosh", acoshRule}, {"Asin", asinRule},
    {"Asinh", asinhRule}, {"Atan", atanRule},
    {"Atanh", atanhRule}, {"Cos", cosRule},
    {"Cosh", coshRule},   {"Erf", erfRule},
    {"Exp", expRule},     {"Log", logRule},
    {"Neg", negRule},     {"Reciprocal", reciprocalRule},
    {"Sin", sinRule},     {"Sinh", sinhRule},
    {"Sqrt", sqrtRule},   {"Tan", tanRule}};

ArrayRef<GradientRule> getFunctionGradients() { return functionGradients; }

} // namespace mp
