//===- Reduction.cpp - Gradients of reductions ----------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../Rules.h"

using namespace mlir;

namespace mp {

/// A gradient or result of the reduction `op` in a shape that broadcasts to
/// that of its operand: with the reduced axes as sizes 1.
static Value keepAxes(NodeAdjoint &op, Value reduced) {
  if (getInt(op.getNode(), "keepdims", 1))
    return reduced;
  Value axes = op.in(1);
  if (!axes) {
    // One number, or what was not reduced at all.
    if (getInt(op.getNode(), "noop_with_empty_axes", 0))
      return reduced;
    if (auto rank = NodeBuilder::getRank(op.in(0)))
      return op.b.reshape(reduced, SmallVector<int64_t>(*rank, 1));
    return reduced;
  }
  return op.b.create("Unsqueeze", {reduced, axes});
}

static LogicalResult sumRule(NodeAdjoint &op) {
  op.set(0, op.b.expandLike(keepAxes(op, op.grad()), op.in(0)));
  return success();
}

/// The share of each element in a mean: elements of the result by elements of
/// the operand.
static LogicalResult meanRule(NodeAdjoint &op) {
  Value spread = op.b.expandLike(keepAxes(op, op.grad()), op.in(0));
  auto all = NodeBuilder::getShape(op.in(0));
  auto rest = NodeBuilder::getShape(op.out());
  if (all && rest) {
    auto count = [](ArrayRef<int64_t> sizes) {
      double product = 1;
      for (int64_t size : sizes)
        product *= double(size);
      return product;
    };
    op.set(0, op.b.div(spread,
                       op.b.scalarLike(count(*all) / count(*rest), spread)));
    return success();
  }
  Value count = op.b.create("Div", {op.b.create("Size", {op.in(0)}),
                                    op.b.create("Size", {op.out()})});
  op.set(0, op.b.div(spread, op.b.castLike(count, spread)));
  return success();
}

static constexpr GradientRule rules[] = {{"ReduceMean", meanRule},
                                         {"ReduceSum", sumRule}};

ArrayRef<GradientRule> getReductionRules() { return rules; }

} // namespace mp
