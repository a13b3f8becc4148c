//===- Reduction.cpp - Gradients of reductions ----------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A gradient with its reduced axes as sizes 1 broadcasts to the operand. Other
// terms that a rule computes from the operand are reduced over the same axes.
//
//===----------------------------------------------------------------------===//

#include "../Rules.h"

#include "llvm/ADT/APFloat.h"

using namespace mlir;
using namespace mp::onnxir;

namespace mp {

/// A gradient or result of the reduction `op` in a shape that broadcasts to
/// that of its operand: the reduced axes have size 1.
static Value keepAxes(NodeAdjoint &op, Value reduced) {
  if (op.keepDims())
    return reduced;
  Value axes = op.in(1);
  if (!axes) {
    // A single number, or a value that was not reduced at all.
    if (op.getFlag("noop_with_empty_axes"))
      return reduced;
    if (auto rank = NodeBuilder::getRank(op.in(0)))
      return op.b.reshape(reduced, SmallVector<int64_t>(*rank, 1));
    return reduced;
  }
  return op.b.create("Unsqueeze", {reduced, axes});
}

/// Reduces `value`, which has the operand's shape, by `name` over the axes of
/// the node; axes are kept.
static Value reduceAlike(NodeAdjoint &op, StringRef name, Value value) {
  SmallVector<NamedAttribute> attributes{op.b.attr("keepdims", int64_t(1))};
  int64_t isNoop = op.getInt("noop_with_empty_axes");
  if (isNoop)
    attributes.push_back(op.b.attr("noop_with_empty_axes", isNoop));
  return op.b.create(name, {value, op.in(1)}, attributes);
}

static Value isEqualTo(NodeAdjoint &op, Value value, double number) {
  return op.b.create("Equal", {value, op.b.scalarLike(number, value)});
}

//===----------------------------------------------------------------------===//
// Sums
//===----------------------------------------------------------------------===//

static LogicalResult sumRule(NodeAdjoint &op) {
  op.set(0, op.b.expandLike(keepAxes(op, op.grad()), op.in(0)));
  return success();
}

/// The share of each element in a mean is the ratio of elements of the result
/// to elements of the operand.
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

static LogicalResult sumSquareRule(NodeAdjoint &op) {
  op.set(0, op.b.mul(keepAxes(op, op.grad()), op.b.scale(op.in(0), 2)));
  return success();
}

static LogicalResult l1Rule(NodeAdjoint &op) {
  op.set(0, op.b.mul(keepAxes(op, op.grad()), op.b.create("Sign", {op.in(0)})));
  return success();
}

/// X / Y; zero at the origin, where no derivative exists.
static LogicalResult l2Rule(NodeAdjoint &op) {
  Value norm = keepAxes(op, op.out());
  Value ratio = op.b.where(isEqualTo(op, norm, 0), op.b.scalarLike(0, norm),
                           op.b.div(keepAxes(op, op.grad()), norm));
  op.set(0, op.b.mul(op.in(0), ratio));
  return success();
}

static LogicalResult logSumRule(NodeAdjoint &op) {
  Value sum = reduceAlike(op, "ReduceSum", op.in(0));
  op.set(0, op.b.expandLike(op.b.div(keepAxes(op, op.grad()), sum), op.in(0)));
  return success();
}

/// exp(X - Y). Y is limited to finite numbers: a row of -inf has Y = -inf.
static LogicalResult logSumExpRule(NodeAdjoint &op) {
  NodeBuilder &b = op.b;
  Value sum = keepAxes(op, op.out());
  auto type = cast<FloatType>(getTensorElementType(sum.getType()));
  double lowest =
      APFloat::getLargest(type.getFloatSemantics(), /*Negative=*/true)
          .convertToDouble();
  Value finite = b.create("Max", {sum, b.scalarLike(lowest, sum)});
  Value share = b.create("Exp", {b.sub(op.in(0), finite)});
  op.set(0, b.mul(keepAxes(op, op.grad()), share));
  return success();
}

//===----------------------------------------------------------------------===//
// Extrema and products
//===----------------------------------------------------------------------===//

/// The elements that have the result's value share its gradient.
static LogicalResult extremumRule(NodeAdjoint &op) {
  NodeBuilder &b = op.b;
  Value isEqual = b.create("Equal", {op.in(0), keepAxes(op, op.out())});
  Value count = reduceAlike(op, "ReduceSum", b.castLike(isEqual, op.grad()));
  Value share = b.div(keepAxes(op, op.grad()), count);
  op.set(0, b.where(isEqual, share, b.scalarLike(0, share)));
  return success();
}

/// The derivative by an element is the product of the others. A division by
/// zero does not give it, so zeros are counted and left out of the product.
static LogicalResult prodRule(NodeAdjoint &op) {
  NodeBuilder &b = op.b;
  Value x = op.in(0), one = b.scalarLike(1, x), zero = b.scalarLike(0, x);
  Value isZero = isEqualTo(op, x, 0);
  Value nonzero = b.where(isZero, one, x);
  Value product = reduceAlike(op, "ReduceProd", nonzero);
  Value count = reduceAlike(op, "ReduceSum", b.castLike(isZero, x));
  Value grad = keepAxes(op, op.grad());
  Value ofZero = b.where(isEqualTo(op, count, 1), product, zero);
  Value ofOther = b.where(isEqualTo(op, count, 0), product, zero);
  Value others = b.where(isZero, ofZero, b.div(ofOther, nonzero));
  op.set(0, b.mul(grad, others));
  return success();
}

//===----------------------------------------------------------------------===//
// Along one axis
//===----------------------------------------------------------------------===//

/// Each element is part of all sums from its own on, so its gradient is the sum
/// from the other end.
static LogicalResult cumSumRule(NodeAdjoint &op) {
  int64_t isReverse = op.getInt("reverse");
  int64_t isExclusive = op.getInt("exclusive");
  op.set(0, op.b.create("CumSum", {op.grad(), op.in(1)},
                        {op.b.attr("reverse", int64_t(!isReverse)),
                         op.b.attr("exclusive", isExclusive)}));
  return success();
}

/// Like `name` of the node's own axis and direction, `isReverse` as given.
static Value accumulate(NodeAdjoint &op, StringRef name, Value value,
                        bool isReverse, bool isExclusive) {
  return op.b.create(name, {value, op.in(1)},
                     {op.b.attr("reverse", int64_t(isReverse)),
                      op.b.attr("exclusive", int64_t(isExclusive))});
}

/// An element is a factor of all products from its own on. Before the first
/// zero, the derivative of a product is the product divided by the element. The
/// derivative by the first zero is the product without it, and later elements
/// only have derivatives of zero. No division is by zero.
static LogicalResult cumProdRule(NodeAdjoint &op) {
  NodeBuilder &b = op.b;
  bool isReverse = op.getFlag("reverse"), isExclusive = op.getFlag("exclusive");
  Value x = op.in(0), one = b.scalarLike(1, x), zero = b.scalarLike(0, x);
  Value isZero = isEqualTo(op, x, 0);
  Value zeros =
      accumulate(op, "CumSum", b.castLike(isZero, x), isReverse, false);
  Value isFirst = b.create("And", {isZero, isEqualTo(op, zeros, 1)});
  Value without = accumulate(op, "CumProd", b.where(isFirst, one, x), isReverse,
                             isExclusive);
  auto sumOfLater = [&](Value products) {
    return accumulate(op, "CumSum", b.mul(op.grad(), products), !isReverse,
                      isExclusive);
  };
  Value before = b.div(sumOfLater(op.out()), b.where(isZero, one, x));
  Value rest = b.where(isFirst, sumOfLater(without), zero);
  op.set(0, b.where(isEqualTo(op, zeros, 0), before, rest));
  return success();
}

static LogicalResult topKRule(NodeAdjoint &op) {
  Value indices = op.out(1);
  if (!hasResult(op.getNode(), 1))
    return op.fail("its indices are left out");
  int64_t axis = op.axis();
  op.set(0, op.b.create("com.microsoft.GatherElementsGrad",
                        {op.grad(), op.b.shapeOf(op.in(0)), indices},
                        op.b.attr("axis", axis), op.in(0).getType()));
  return success();
}

static LogicalResult softmaxRule(NodeAdjoint &op) {
  int64_t axis = op.axis();
  op.set(0, op.b.create("com.microsoft.SoftmaxGrad_13", {op.grad(), op.out()},
                        op.b.attr("axis", axis), op.in(0).getType()));
  return success();
}

static LogicalResult logSoftmaxRule(NodeAdjoint &op) {
  NodeBuilder &b = op.b;
  int64_t axis = op.axis();
  // The schema of LogSoftmaxGrad_13 does not admit bfloat16.
  if (!getTensorElementType(op.in(0).getType()).isBF16()) {
    op.set(0, b.create("com.microsoft.LogSoftmaxGrad_13", {op.grad(), op.out()},
                       b.attr("axis", axis), op.in(0).getType()));
    return success();
  }
  Value sum = b.reduceSum(op.grad(), axis, /*keepDims=*/true);
  Value share = b.mul(b.create("Exp", {op.out()}), sum);
  op.set(0, b.sub(op.grad(), share));
  return success();
}

static constexpr GradientRule reductionGradients[] = {
    {"CumProd", cumProdRule},
    {"CumSum", cumSumRule},
    {"LogSoftmax", logSoftmaxRule},
    {"ReduceL1", l1Rule},
    {"ReduceL2", l2Rule},
    {"ReduceLogSum", logSumRule},
    {"ReduceLogSumExp", logSumExpRule},
    {"ReduceMax", extremumRule},
    {"ReduceMean", meanRule},
    {"ReduceMin", extremumRule},
    {"ReduceProd", prodRule},
    {"ReduceSum", sumRule},
    {"ReduceSumSquare", sumSquareRule},
    {"Softmax", softmaxRule},
    {"TopK", topKRule}};

ArrayRef<GradientRule> getReductionGradients() { return reductionGradients; }

} // namespace mp
