//===- Indexing.cpp - Gradients of gathering in standard ops --------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Gradients of elements that were gathered several times add up, in fp32 for
// 16-bit gradients. Scatters support sums from opset 16 on.
//
//===----------------------------------------------------------------------===//

#include "../DecompositionTables.h"

using namespace mlir;
using namespace mp::onnxir;

namespace mp {

static bool hasScatterAdd(NodeDecomposition &op) {
  return getOpset(op.getNode(), "").value_or(1) >= 16;
}

static Value toInt64(NodeDecomposition &op, unsigned index) {
  return op.b.castTo(op.in(index), op.b.getBuilder().getI64Type());
}

static Value zeros(NodeDecomposition &op, Value shape, Value like) {
  return op.b.expand(op.b.scalarLike(0, like), shape);
}

/// The product of the sizes from `start` to `end` of `shape`, as a vector of
/// one element.
static Value countFrom(NodeDecomposition &op, Value shape, int64_t start,
                       int64_t end) {
  NodeBuilder &b = op.b;
  if (auto known = getConstantInts(shape)) {
    int64_t rank = known->size(), count = 1;
    int64_t last = std::min(end < 0 ? end + rank : end, rank);
    for (int64_t axis = start < 0 ? start + rank : start; axis < last; ++axis)
      count *= (*known)[axis];
    return b.ints(count);
  }
  // Before opset 18, ReduceProd of an empty tensor is not defined.
  Value sizes = b.concat({b.ints(1), b.slice(shape, 0, start, end)}, 0);
  return b.create("ReduceProd", {sizes}, b.attr("keepdims", int64_t(1)));
}

/// `value` in the shape `shape`, in which 0 means a size of 0.
static Value toShape(NodeDecomposition &op, Value value, Value shape) {
  SmallVector<NamedAttribute> attributes;
  if (getOpset(op.getNode(), "").value_or(1) >= 14)
    attributes.push_back(op.b.attr("allowzero", int64_t(1)));
  return op.b.create("Reshape", {value, shape}, attributes);
}

constexpr int64_t noEnd = std::numeric_limits<int64_t>::max();

//===----------------------------------------------------------------------===//
// Gather
//===----------------------------------------------------------------------===//

/// Adds `rows`, [n, width], to `count` rows of zeros, at `indices`, [n].
static Value addRows(NodeDecomposition &op, Value rows, Value indices,
                     Value count) {
  NodeBuilder &b = op.b;
  if (hasScatterAdd(op)) {
    Value width = b.dimOf(rows, 1);
    return b.create("ScatterND",
                    {zeros(op, b.concat({count, width}, 0), rows),
                     b.unsqueeze(indices, 1), rows},
                    b.attr("reduction", StringRef("add")));
  }
  Type element = getTensorElementType(rows.getType());
  Attribute pair[] = {b.getBuilder().getFloatAttr(element, 0),
                      b.getBuilder().getFloatAttr(element, 1)};
  Value values = b.constant(DenseElementsAttr::get(
      RankedTensorType::get({2}, element), ArrayRef<Attribute>(pair)));
  Value oneHot = b.create("OneHot", {indices, b.squeeze(count, 0), values},
                          b.attr("axis", int64_t(0)));
  return b.matmul(oneHot, rows);
}

/// GatherGrad(shape, indices, dY): the sizes before and after the axis become
/// one size each, then the axis moves to the front.
static LogicalResult gatherGrad(NodeDecomposition &op) {
  NodeBuilder &b = op.b;
  Value shape = toInt64(op, 0), indices = toInt64(op, 1), grad = op.wide(2);
  int64_t axis = op.axis();
  bool isFirst = axis == 0;
  if (isFirst && hasScatterAdd(op)) {
    op.replace(b.create(
        "ScatterND", {zeros(op, shape, grad), b.unsqueeze(indices, -1), grad},
        b.attr("reduction", StringRef("add"))));
    return success();
  }
  Value outer = countFrom(op, shape, 0, axis);
  Value size = countFrom(op, shape, axis, axis == -1 ? noEnd : axis + 1);
  Value inner = axis == -1 ? b.ints(1) : countFrom(op, shape, axis + 1, noEnd);
  Value flat = b.reshape(indices, {-1});
  Value blocks =
      toShape(op, grad, b.concat({outer, b.shapeOf(flat), inner}, 0));
  Value first = b.transpose(blocks, {1, 0, 2});
  Value width = b.mul(outer, inner);
  Value rows = toShape(op, first, b.concat({b.shapeOf(flat), width}, 0));
  Value sums = addRows(op, rows, flat, size);
  Value split = toShape(op, sums, b.concat({size, outer, inner}, 0));
  op.replace(toShape(op, b.transpose(split, {1, 0, 2}), shape));
  return success();
}

/// GatherElementsGrad(dY, shape, indices)
static LogicalResult gatherElementsGrad(NodeDecomposition &op) {
  NodeBuilder &b = op.b;
  if (!hasScatterAdd(op))
    return op.fail("sums of scattered elements need opset 16 or newer");
  Value grad = op.wide(0);
  op.replace(b.create(
      "ScatterElements", {zeros(op, op.in(1), grad), op.in(2), grad},
      {b.attr("axis", op.axis()), b.attr("reduction", StringRef("add"))}));
  return success();
}

/// GatherNDGrad(shape, indices, dY): batch axes become one axis, whose index
/// comes before the others.
static LogicalResult gatherNDGrad(NodeDecomposition &op) {
  NodeBuilder &b = op.b;
  if (!hasScatterAdd(op))
    return op.fail("sums of scattered elements need opset 16 or newer");
  Value shape = op.in(0), indices = op.in(1), grad = op.wide(2);
  int64_t batchDims = op.getInt("batch_dims");
  NamedAttribute add = b.attr("reduction", StringRef("add"));
  if (batchDims == 0) {
    op.replace(
        b.create("ScatterND", {zeros(op, shape, grad), indices, grad}, add));
    return success();
  }
  Value batch = countFrom(op, shape, 0, batchDims);
  Value depth = b.dimOf(indices, -1);
  Value rest = b.slice(shape, 0, batchDims, noEnd);
  Value flat = b.reshape(indices, b.concat({batch, b.ints(-1), depth}, 0));
  Value numbers =
      b.create("Range", {b.intScalar(0), b.squeeze(batch, 0), b.intScalar(1)});
  Value column = b.slice(b.shapeOf(flat), 0, 0, 2);
  Value number =
      b.expand(b.unsqueeze(numbers, {1, 2}), b.concat({column, b.ints(1)}, 0));
  Value full = b.concat({number, flat}, 2);
  // The sizes after the indexed axes.
  Value after = b.create("Slice", {rest, depth, b.ints(noEnd), b.ints(0)});
  Value rows = b.reshape(grad, b.concat({column, after}, 0));
  Value sums =
      b.create("ScatterND",
               {zeros(op, b.concat({batch, rest}, 0), rows), full, rows}, add);
  op.replace(toShape(op, sums, shape));
  return success();
}

//===----------------------------------------------------------------------===//
// Slice
//===----------------------------------------------------------------------===//

/// The number of elements that a slice leaves out at both ends, a vector of one
/// element per axis. False if a step is not 1, or if the starts are not
/// constant.
static bool getBorders(NodeDecomposition &op, SmallVector<Value> &before,
                       SmallVector<Value> &after) {
  NodeBuilder &b = op.b;
  auto rank = NodeBuilder::getRank(op.in(0));
  auto starts = getConstantInts(op.in(2));
  if (!rank || !starts)
    return false;
  auto axes = op.has(4) ? getConstantInts(op.in(4))
                        : llvm::to_vector(llvm::seq<int64_t>(starts->size()));
  auto steps = op.has(5) ? getConstantInts(op.in(5))
                         : SmallVector<int64_t>(starts->size(), 1);
  if (!axes || !steps || axes->size() != starts->size() ||
      llvm::any_of(*steps, [](int64_t step) { return step != 1; }))
    return false;
  before.assign(*rank, b.ints(0));
  after.assign(*rank, b.ints(0));
  auto known = getConstantInts(op.in(1));
  for (auto [axis, start] : llvm::zip(*axes, *starts)) {
    int64_t position = axis < 0 ? axis + *rank : axis;
    if (position < 0 || position >= *rank)
      return false;
    Value size = known && position < int64_t(known->size())
                     ? b.ints((*known)[position])
                     : b.gather(op.in(1), b.ints(position), 0);
    Value length = b.dimOf(op.in(0), position);
    auto fixedSize = getConstantInts(size), fixed = getConstantInts(length);
    if (fixedSize && fixed) {
      int64_t most = fixedSize->front();
      int64_t first =
          std::clamp<int64_t>(start < 0 ? start + most : start, 0, most);
      before[position] = b.ints(first);
      after[position] = b.ints(most - first - fixed->front());
      continue;
    }
    Value first = b.ints(start);
    if (start < 0)
      first = b.create("Max", {b.add(size, first), b.ints(0)});
    before[position] = b.create("Min", {first, size});
    after[position] = b.sub(b.sub(size, before[position]), length);
  }
  return true;
}

/// Joins vectors of one element into one vector: a constant if all of them are
/// constant.
static Value join(NodeDecomposition &op, ArrayRef<Value> values) {
  SmallVector<int64_t> known;
  for (Value value : values)
    if (auto number = getConstantInts(value))
      known.push_back(number->front());
  return known.size() == values.size() ? op.b.ints(known)
                                       : op.b.concat(values, 0);
}

/// SliceGrad(dY, shape, starts, ends, axes, steps): padding with zeros. If
/// there are steps, dY is scattered instead, to the indices that an equal slice
/// of the numbers 0, 1, 2 ... yields.
static LogicalResult sliceGrad(NodeDecomposition &op) {
  NodeBuilder &b = op.b;
  SmallVector<Value> borders, after;
  if (getBorders(op, borders, after)) {
    borders.append(after);
    op.replace(b.create("Pad", {op.in(0), join(op, borders)}));
    return success();
  }
  Value shape = op.in(1), count = countFrom(op, shape, 0, noEnd);
  Value numbers =
      b.create("Range", {b.intScalar(0), b.squeeze(count, 0), b.intScalar(1)});
  Value places = b.create("Slice", {toShape(op, numbers, shape), op.in(2),
                                    op.in(3), op.in(4), op.in(5)});
  Value flat = b.create("ScatterElements",
                        {zeros(op, count, op.in(0)), b.reshape(places, {-1}),
                         b.reshape(op.in(0), {-1})});
  op.replace(toShape(op, flat, shape));
  return success();
}

static constexpr Decomposition indexingDecompositions[] = {
    {"com.microsoft.GatherElementsGrad", gatherElementsGrad},
    {"com.microsoft.GatherGrad", gatherGrad},
    {"com.microsoft.GatherNDGrad", gatherNDGrad},
    {"com.microsoft.SliceGrad", sliceGrad}};

ArrayRef<Decomposition> getIndexingDecompositions() {
  return indexingDecompositions;
}

} // namespace mp
