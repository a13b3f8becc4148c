//===- Pooling.cpp - Gradients of pools -----------------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// MaxPoolGrad and AveragePoolGrad have no operand for the size of their result:
// if it is not known in advance, standard ops are used.
//
//===----------------------------------------------------------------------===//

#include "../Rules.h"
#include "../WindowGradients.h"

using namespace mlir;
using namespace mp::onnxir;

namespace mp {

/// True if the spatial sizes of `value` are known.
static bool hasKnownImage(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type && type.getRank() > 2 &&
         llvm::none_of(type.getShape().drop_front(2), ShapedType::isDynamic);
}

static SmallVector<NamedAttribute> copyPoolAttributes(NodeAdjoint &op) {
  SmallVector<NamedAttribute> attributes;
  for (NamedAttribute entry : op.getNode()->getDiscardableAttrs())
    if (!entry.getName().strref().contains('.'))
      attributes.push_back(entry);
  return attributes;
}

/// Batch, channels and the image, and the windows in it.
struct Pool {
  SmallVector<Size> image;
  Windows windows;
};

static std::optional<Pool> getPool(NodeAdjoint &op) {
  auto rank = NodeBuilder::getRank(op.in(0));
  if (!rank)
    return std::nullopt;
  SmallVector<Size> image = SizeMath(op.b).from(op.in(0), 0, *rank);
  auto windows = readPool(op.b, op.getNode(), image, op.out());
  if (!windows)
    return std::nullopt;
  return Pool{image, *windows};
}

static LogicalResult failOnPool(NodeAdjoint &op) {
  return op.fail("expected an operand of known rank, and attributes that fit");
}

static LogicalResult maxPoolRule(NodeAdjoint &op) {
  if (!op.grad())
    return success();
  auto pool = getPool(op);
  if (!pool)
    return failOnPool(op);
  Value indices = op.require(
      1, withElementType(op.out().getType(), op.b.getBuilder().getI64Type()));
  // Runtimes expect row-major indices.
  bool isColumnMajor = op.getFlag("storage_order");
  if (hasKnownImage(op.in(0)) && !isColumnMajor &&
      !getTensorElementType(op.in(0).getType()).isBF16())
    op.set(0, op.b.create("com.microsoft.MaxPoolGrad", {op.grad(), indices},
                          copyPoolAttributes(op), op.in(0).getType()));
  else
    op.set(0, scatterToCells(op.b, op.grad(), indices, pool->image,
                             pool->windows, isColumnMajor));
  return success();
}

static LogicalResult averagePoolRule(NodeAdjoint &op) {
  auto pool = getPool(op);
  if (!pool)
    return failOnPool(op);
  Value grad = op.grad();
  if (hasKnownImage(op.in(0)) &&
      !getTensorElementType(grad.getType()).isBF16()) {
    op.set(0, op.b.create("com.microsoft.AveragePoolGrad", {grad},
                          copyPoolAttributes(op), op.in(0).getType()));
    return success();
  }
  Value spread =
      spreadMeans(op.b, op.getNode(), grad, pool->image, pool->windows);
  op.set(0, op.b.castLike(spread, grad));
  return success();
}

//===----------------------------------------------------------------------===//
// Norms
//===----------------------------------------------------------------------===//

/// The derivative of |x|^p / p: |x|^(p-1) of `value`, with the sign of x.
static Value powerBelow(NodeAdjoint &op, Value value, int64_t p) {
  Value sign = op.b.create("Sign", {value});
  if (p == 1)
    return sign;
  if (p == 2)
    return value;
  Value size = op.b.create("Abs", {value});
  Value power =
      op.b.create("Pow", {size, op.b.scalarLike(double(p - 1), value)});
  return op.b.mul(sign, power);
}

/// grad / y^(p-1); windows of zeros get no gradient, as the norm has no
/// derivative there.
static Value divideByNorm(NodeAdjoint &op, Value grad, Value norm, int64_t p) {
  if (p == 1)
    return grad;
  Value isZero = op.b.create("Equal", {norm, op.b.scalarLike(0, norm)});
  Value safe = op.b.where(isZero, op.b.scalarLike(1, norm), norm);
  Value quotient = op.b.div(grad, powerBelow(op, safe, p));
  return op.b.where(isZero, op.b.scalarLike(0, grad), quotient);
}

static LogicalResult lpPoolRule(NodeAdjoint &op) {
  auto pool = getPool(op);
  if (!pool)
    return failOnPool(op);
  int64_t p = op.getInt("p");
  Value spread = spreadEvenly(op.b, divideByNorm(op, op.grad(), op.out(), p),
                              pool->image, pool->windows);
  op.set(0, op.b.mul(spread, powerBelow(op, op.in(0), p)));
  return success();
}

static LogicalResult globalLpPoolRule(NodeAdjoint &op) {
  int64_t p = op.getInt("p");
  Value share = divideByNorm(op, op.grad(), op.out(), p);
  op.set(0, op.b.mul(powerBelow(op, op.in(0), p), share));
  return success();
}

//===----------------------------------------------------------------------===//
// One window
//===----------------------------------------------------------------------===//

static LogicalResult globalAveragePoolRule(NodeAdjoint &op) {
  auto rank = NodeBuilder::getRank(op.in(0));
  if (!rank)
    return op.fail("the rank of its operand is unknown");
  SizeMath math(op.b);
  Size cells = 1;
  for (const Size &size : math.from(op.in(0), 2, *rank))
    cells = math.mul(cells, size);
  Value share = op.b.div(
      op.grad(), math.scalar(cells, getTensorElementType(op.grad().getType())));
  op.set(0, op.b.expandLike(share, op.in(0)));
  return success();
}

/// The first of equal elements gets all of the gradient, as in MaxPool.
static LogicalResult globalMaxPoolRule(NodeAdjoint &op) {
  if (!NodeBuilder::getRank(op.in(0)))
    return op.fail("the rank of its operand is unknown");
  Value flat = op.b.reshape(op.in(0), {0, 0, -1});
  Value first = op.b.create("ArgMax", {flat}, op.b.attr("axis", int64_t(2)));
  Value gradient = op.b.create(
      "ScatterElements",
      {op.b.zerosLike(flat), first, op.b.reshape(op.grad(), {0, 0, -1})},
      op.b.attr("axis", int64_t(2)));
  op.set(0, op.b.reshapeLike(gradient, op.in(0)));
  return success();
}

/// Each value was moved to the position that its index names.
static LogicalResult maxUnpoolRule(NodeAdjoint &op) {
  Value flat = op.b.reshape(op.grad(), ArrayRef<int64_t>(-1));
  op.set(0, op.b.gather(flat, op.in(1), 0));
  return success();
}

static constexpr GradientRule poolingGradients[] = {
    {"AveragePool", averagePoolRule},
    {"GlobalAveragePool", globalAveragePoolRule},
    {"GlobalLpPool", globalLpPoolRule},
    {"GlobalMaxPool", globalMaxPoolRule},
    {"LpPool", lpPoolRule},
    {"MaxPool", maxPoolRule},
    {"MaxUnpool", maxUnpoolRule}};

ArrayRef<GradientRule> getPoolingGradients() { return poolingGradients; }

} // namespace mp
