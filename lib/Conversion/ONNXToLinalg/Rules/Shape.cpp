//===- Shape.cpp - The same elements in another shape ---------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../Movement.h"
#include "../Rules.h"

using namespace mlir;

namespace mp {

/// Replaces -1 by the remaining size, and 0 by the operand's size of that axis.
static FailureOr<Sizes> resolveShape(NodeLowering &node, TensorValue data,
                                     Sizes shape) {
  Emitter &e = node.e;
  Sizes from = e.sizes(data);
  bool allowZero = node.getFlag("allowzero");
  std::optional<unsigned> rest;
  Size others = e.size(1);
  for (auto [axis, extent] : llvm::enumerate(shape)) {
    std::optional<int64_t> constant = Emitter::getConstant(extent);
    if (constant == -1) {
      if (rest) {
        (void)node.fail("two sizes are -1");
        return failure();
      }
      rest = axis;
      continue;
    }
    if (constant == 0 && !allowZero && axis < from.size())
      extent = from[axis];
    others = e.mul(others, extent);
  }
  Size count = e.product(from);
  if (rest && !Emitter::isConstant(others, 0))
    shape[*rest] = e.floorDiv(count, others);
  else if (rest)
    shape[*rest] = e.size(0);
  Size total = e.product(shape);
  if (auto have = Emitter::getConstant(count),
      want = Emitter::getConstant(total);
      have && want && *have != *want) {
    (void)node.fail("cannot make " + Twine(*want) + " elements of " +
                    Twine(*have));
    return failure();
  }
  return shape;
}

/// Sizes that are known at run time only may be -1 or 0.
static Sizes resolveAtRunTime(NodeLowering &node, TensorValue data,
                              Sizes shape) {
  Emitter &e = node.e;
  Scalars &s = node.s;
  Sizes from = e.sizes(data);
  bool allowZero = node.getFlag("allowzero");
  Size others = e.size(1);
  for (auto [axis, extent] : llvm::enumerate(shape)) {
    Value value = e.index(extent);
    if (!allowZero && axis < from.size()) {
      Value isZero = s.compare(Scalars::EQ, value, s.index(0));
      extent = e.select(isZero, from[axis], extent);
    }
    Value isRest = s.compare(Scalars::EQ, e.index(extent), s.index(-1));
    others = e.mul(others, e.select(isRest, e.size(1), extent));
  }
  Size rest = e.floorDiv(e.product(from), e.max(others, e.size(1)));
  for (Size &extent : shape) {
    Value isRest = s.compare(Scalars::EQ, e.index(extent), s.index(-1));
    extent = e.select(isRest, rest, extent);
    e.check(s.compare(Scalars::GE, e.index(extent), s.index(0)),
            "size %0 is negative", extent, extent);
  }
  return shape;
}

static LogicalResult reshapeRule(NodeLowering &node) {
  Emitter &e = node.e;
  TensorValue data = node.in(0);
  std::optional<Sizes> shape;
  if (node.states("shape")) {
    shape.emplace();
    for (int64_t extent : node.getInts("shape"))
      shape->push_back(e.size(extent));
  } else {
    shape = node.ints(1);
  }
  if (!shape)
    return node.fail("the number of dimensions is known at run time only");
  // Sizes are not negative: only sizes that were loaded may be -1.
  bool isLoaded = !node.states("shape") && !node.getKnown(1);
  if (isLoaded) {
    shape = resolveAtRunTime(node, data, *shape);
  } else {
    FailureOr<Sizes> resolved = resolveShape(node, data, *shape);
    if (failed(resolved))
      return failure();
    shape = *resolved;
  }
  Size have = e.product(e.sizes(data)), want = e.product(*shape);
  if (have != want)
    e.check(node.s.compare(Scalars::EQ, e.index(have), e.index(want)),
            "cannot make %1 elements of %0", have, want);
  node.set(e.reshape(data, *shape));
  return success();
}

static LogicalResult flattenRule(NodeLowering &node) {
  Emitter &e = node.e;
  TensorValue data = node.in(0);
  Sizes from = e.sizes(data);
  int64_t rank = from.size(), axis = node.axis();
  if (axis < 0)
    axis += rank;
  if (axis < 0 || axis > rank)
    return node.fail("axis " + Twine(axis) + " of a tensor with " +
                     Twine(rank) + " axes");
  ArrayRef<Size> all(from);
  Sizes to = {e.product(all.take_front(axis)), e.product(all.drop_front(axis))};
  node.set(e.reshape(data, to));
  return success();
}

/// Axes that are known at run time only: absent where they are constants or
/// not given.
static std::optional<Sizes> getRunTimeAxes(NodeLowering &node) {
  if (node.states("axes") || !node.has(1) || node.constantInts(1))
    return std::nullopt;
  return node.ints(1);
}

static LogicalResult squeezeRule(NodeLowering &node) {
  Emitter &e = node.e;
  TensorValue data = node.in(0);
  Sizes from = e.sizes(data), to;
  if (auto axes = getRunTimeAxes(node)) {
    if (axes->size() > from.size())
      return node.fail("found " + Twine(axes->size()) +
                       " axes of a tensor "
                       "with " +
                       Twine(from.size()));
    auto flags = getAxisFlags(e, *axes, from.size());
    node.set(dropFlagged(e, data, flags, axes->size()));
    return success();
  }
  auto list = node.constantList("axes", 1);
  if (failed(list))
    return failure();
  bool all = !node.states("axes") && !node.has(1);
  auto axes = node.normalizeAxes(*list, from.size());
  if (failed(axes))
    return failure();
  for (auto [axis, extent] : llvm::enumerate(from)) {
    if (all && !Emitter::getConstant(extent))
      return node.fail("which sizes are 1 is known at run time only");
    bool drops =
        all ? Emitter::isConstant(extent, 1) : llvm::is_contained(*axes, axis);
    if (!drops)
      to.push_back(extent);
    else if (failed(checkEqual(node, extent, e.size(1),
                               "the size of axis " + Twine(axis) +
                                   " is %0, expected %1")))
      return failure();
  }
  node.set(e.reshape(data, to));
  return success();
}

/// Inserts sizes of 1 into `from` at the axes `axes` of the result.
static Sizes spreadSizes(Emitter &e, ArrayRef<Size> from, ArrayRef<Size> axes) {
  Scalars &s = e.s;
  int64_t rank = from.size() + axes.size();
  Size next = e.size(0);
  Sizes to;
  for (Value flag : getAxisFlags(e, axes, rank)) {
    Size extent = e.size(1);
    for (auto [axis, own] : llvm::enumerate(from)) {
      Value isHere = s.compare(Scalars::EQ, e.index(next), s.index(axis));
      Value isTaken =
          arith::AndIOp::create(e.b, e.loc, isHere, s.logicalNot(flag));
      extent = e.select(isTaken, own, extent);
    }
    to.push_back(extent);
    next = e.add(next, e.select(flag, e.size(0), e.size(1)));
  }
  e.check(s.compare(Scalars::EQ, e.index(next), s.index(from.size())),
          "an axis is given twice: room for %0 axes, expected %1", next,
          e.size(from.size()));
  return to;
}

static LogicalResult unsqueezeRule(NodeLowering &node) {
  Emitter &e = node.e;
  TensorValue data = node.in(0);
  Sizes to = e.sizes(data);
  if (auto axes = getRunTimeAxes(node)) {
    node.set(e.reshape(data, spreadSizes(e, to, *axes)));
    return success();
  }
  auto list = node.constantList("axes", 1);
  if (failed(list))
    return failure();
  auto axes = node.normalizeAxes(*list, to.size() + list->size());
  if (failed(axes))
    return failure();
  if (axes->size() != list->size())
    return node.fail("an axis is given twice");
  for (int64_t axis : *axes)
    to.insert(to.begin() + axis, e.size(1));
  node.set(e.reshape(data, to));
  return success();
}

static LogicalResult transposeRule(NodeLowering &node) {
  TensorValue data = node.in(0);
  SmallVector<int64_t> permutation = node.permutation(data.getRank());
  auto axes = node.normalizeAxes(permutation, data.getRank());
  if (failed(axes))
    return failure();
  if (axes->size() != permutation.size() ||
      int64_t(permutation.size()) != data.getRank())
    return node.fail("'perm' is not a permutation of the axes");
  node.set(node.e.transpose(data, permutation));
  return success();
}

static LogicalResult expandRule(NodeLowering &node) {
  Emitter &e = node.e;
  TensorValue data = node.in(0);
  std::optional<Sizes> shape = node.ints(1);
  if (!shape)
    return node.fail("the number of dimensions is known at run time only");
  Sizes to = e.broadcast({e.sizes(data), *shape});
  node.set(e.broadcastTo(data, to));
  return success();
}

/// Only reached by tensors whose rank or sizes foldShape cannot tell.
static LogicalResult shapeRule(NodeLowering &node) {
  return node.fail("operand has a type that cannot be compiled");
}

static LogicalResult constantOfShapeRule(NodeLowering &node) {
  Emitter &e = node.e;
  std::optional<Sizes> shape = node.ints(0);
  if (!shape)
    return node.fail("the number of dimensions is known at run time only");
  for (Size extent : *shape)
    e.check(node.s.compare(Scalars::GE, e.index(extent), node.s.index(0)),
            "size %0 is negative", extent, extent);
  Type element = node.outElement();
  Value value = node.s.constant(getComputeType(element), 0);
  Attribute given = node.getNode()->getAttr("value");
  if (auto tensor = dyn_cast_or_null<onnxir::TensorAttr>(given))
    given = tensor.getValue();
  if (auto elements = dyn_cast_or_null<DenseElementsAttr>(given);
      elements && elements.getNumElements() == 1) {
    if (isa<FloatType>(element))
      value = node.s.constant(
          getComputeType(element),
          (*elements.getValues<APFloat>().begin()).convertToDouble());
    else
      value =
          node.s.integer(getComputeType(element),
                         (*elements.getValues<APInt>().begin()).getSExtValue());
  }
  node.set(e.full(*shape, element, value));
  return success();
}

ArrayRef<LoweringRule> getShapeLowerings() {
  static const LoweringRule rules[] = {
      {"ConstantOfShape", constantOfShapeRule},
      {"Expand", expandRule},
      {"Flatten", flattenRule},
      {"Reshape", reshapeRule},
      {"Shape", shapeRule},
      {"Size", shapeRule},
      {"Squeeze", squeezeRule},
      {"Transpose", transposeRule},
      {"Unsqueeze", unsqueezeRule},
  };
  return rules;
}

} // namespace mp
