//===- Elementwise.cpp - Gradients of elementwise arithmetic --------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../Rules.h"

using namespace mlir;

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

static LogicalResult sumRule(NodeAdjoint &op) {
  for (unsigned index = 0; index < op.getNode()->getNumOperands(); ++index)
    if (op.wants(index))
      op.set(index, op.b.sumTo(op.grad(), op.in(index)));
  return success();
}

static constexpr GradientRule rules[] = {
    {"Add", addRule}, {"Mul", mulRule}, {"Sub", subRule}, {"Sum", sumRule}};

ArrayRef<GradientRule> getElementwiseRules() { return rules; }

} // namespace mp
