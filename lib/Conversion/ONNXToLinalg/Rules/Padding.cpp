//===- Padding.cpp - Borders around tensors, and tensors of a pattern -----===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A Pad of a constant is a fill into which the operand is inserted. Other
// borders read the operand at places computed from the position, depending on
// the kind of border.
//
//===----------------------------------------------------------------------===//

#include "../Movement.h"
#include "../Rules.h"

using namespace mlir;

namespace mp {

//===----------------------------------------------------------------------===//
// Pad
//===----------------------------------------------------------------------===//

namespace {

/// The number of elements added before and after each axis.
struct Borders {
  Sizes before, after;
};

} // namespace

static FailureOr<Borders> getBorders(NodeLowering &node, int64_t rank) {
  Emitter &e = node.e;
  std::optional<Sizes> pads;
  if (node.getVersion() >= 11) {
    pads = node.ints(1);
  } else {
    pads.emplace();
    StringRef name = node.getVersion() < 2 ? "paddings" : "pads";
    for (int64_t pad : node.getInts(name))
      pads->push_back(e.size(pad));
  }
  if (!pads) {
    (void)node.fail("the number of pads is known at run time only");
    return failure();
  }
  unsigned count = node.has(3) ? pads->size() / 2 : rank;
  if (pads->size() != 2 * count) {
    (void)node.fail("found " + Twine(pads->size()) + " pads, expected " +
                    Twine(2 * count));
    return failure();
  }
  FailureOr<Sizes> axes = getAxisList(node, "axes", 3, count, rank);
  if (failed(axes))
    return failure();
  for (Size pad : *pads) {
    // More would leave the range of sizes.
    constexpr int64_t most = int64_t(1) << 40;
    if (Emitter::getConstant(pad).value_or(0) > most) {
      (void)node.fail("a pad is larger than " + Twine(most));
      return failure();
    }
    if (!Emitter::getConstant(pad))
      e.check(node.s.compare(Scalars::LE, e.index(pad), node.s.index(most)),
              "found a pad of %0, expected at most %1", pad, e.size(most));
  }
  ArrayRef<Size> all(*pads);
  Sizes zeros(rank, e.size(0));
  return Borders{spreadOverAxes(e, *axes, all.take_front(count), zeros),
                 spreadOverAxes(e, *axes, all.drop_front(count), zeros)};
}

/// Crops the operand by the negative pads, and sets these to 0.
static FailureOr<TensorValue> crop(NodeLowering &node, TensorValue data,
                                   Borders &borders) {
  Emitter &e = node.e;
  Sizes extents = e.sizes(data);
  Size zero = e.size(0);
  Sizes offsets(extents.size(), zero), strides(extents.size(), e.size(1));
  bool changes = false;
  auto mayBeNegative = [](Size pad) {
    return Emitter::getConstant(pad).value_or(-1) < 0;
  };
  for (auto [axis, extent] : llvm::enumerate(extents)) {
    Size &before = borders.before[axis], &after = borders.after[axis];
    if (!mayBeNegative(before) && !mayBeNegative(after))
      continue;
    changes = true;
    Size lost = e.sub(zero, e.min(before, zero));
    Size cut = e.sub(zero, e.min(after, zero));
    Size rest = e.sub(e.sub(extent, lost), cut);
    if (Emitter::getConstant(rest).value_or(0) < 0) {
      (void)node.fail("pads of axis " + Twine(axis) +
                      " take away more than there is");
      return failure();
    }
    if (!Emitter::getConstant(rest))
      e.check(node.s.compare(Scalars::GE, e.index(rest), node.s.index(0)),
              "pads %0 take away more than the size %1", e.add(lost, cut),
              extent);
    offsets[axis] = lost;
    extent = rest;
    before = e.max(before, zero);
    after = e.max(after, zero);
  }
  return changes ? e.slice(data, offsets, extents, strides) : data;
}

/// Maps `position`, which may be outside, to its place in [0, extent).
static Value resolvePlace(Emitter &e, StringRef mode, Value position,
                          Size extent) {
  Scalars &s = e.s;
  Value zero = s.index(0), last = e.index(e.sub(extent, e.size(1)));
  if (mode == "edge")
    return s.max(s.min(position, last), zero);
  Size period = extent;
  if (mode == "reflect")
    period = e.max(e.mul(e.size(2), e.sub(extent, e.size(1))), e.size(1));
  Value rest = e.index(e.rem(Size(position), period));
  Value isNegative = s.compare(Scalars::LT, rest, zero);
  rest = s.select(isNegative, s.add(rest, e.index(period)), rest);
  if (mode == "wrap")
    return rest;
  Value isBack = s.compare(Scalars::GT, rest, last);
  return s.select(isBack, s.sub(e.index(period), rest), rest);
}

static TensorValue padByPlace(NodeLowering &node, TensorValue data,
                              const Borders &borders, ArrayRef<Size> to,
                              StringRef mode) {
  Emitter &e = node.e;
  Sizes from = e.sizes(data);
  for (auto [axis, extent] : llvm::enumerate(from))
    if (!Emitter::getConstant(extent) && extent != to[axis])
      e.check(node.s.compare(Scalars::GT, e.index(extent), node.s.index(0)),
              "there is nothing to repeat along axis %1 of size %0", extent,
              e.size(axis));
  return e.generate(to, data.element, [&](ValueRange indices) {
    SmallVector<Value> places;
    for (auto [axis, i] : llvm::enumerate(indices)) {
      if (from[axis] == to[axis]) {
        places.push_back(i);
        continue;
      }
      Size position = e.sub(Size(i), borders.before[axis]);
      places.push_back(resolvePlace(e, mode, e.index(position), from[axis]));
    }
    return e.load(data, places);
  });
}

/// The value of the border, as a compute value.
static FailureOr<Value> getPadValue(NodeLowering &node, Type element) {
  Scalars &s = node.s;
  Type type = getComputeType(element);
  if (node.getVersion() < 11)
    return s.constant(type, node.getFloat("value"));
  if (!node.has(2))
    return s.constant(type, 0);
  if (std::optional<double> constant =
          getConstantFloat(node.getNode()->getOperand(2));
      constant && isa<FloatType>(type))
    return s.constant(type, *constant);
  return loadScalar(node, 2);
}

static LogicalResult padRule(NodeLowering &node) {
  Emitter &e = node.e;
  TensorValue data = node.in(0);
  StringRef mode = node.getString("mode");
  if (!llvm::is_contained({"constant", "reflect", "edge", "wrap"}, mode))
    return node.fail("unknown mode '" + mode + "'");
  FailureOr<Borders> borders = getBorders(node, data.getRank());
  if (failed(borders))
    return failure();
  FailureOr<TensorValue> rest = crop(node, data, *borders);
  if (failed(rest))
    return failure();
  Sizes from = e.sizes(*rest), to;
  for (auto [axis, extent] : llvm::enumerate(from)) {
    to.push_back(
        e.add(e.add(borders->before[axis], extent), borders->after[axis]));
    if (mode != "constant" && Emitter::isConstant(extent, 0) &&
        !Emitter::isConstant(to[axis], 0))
      return node.fail("there is nothing to repeat along axis " + Twine(axis));
  }
  if (from == to) {
    node.set(*rest);
    return success();
  }
  if (mode != "constant") {
    node.set(padByPlace(node, *rest, *borders, to, mode));
    return success();
  }
  FailureOr<Value> value = getPadValue(node, data.element);
  if (failed(value))
    return failure();
  TensorValue filled = e.full(to, data.element, *value);
  if (!llvm::any_of(from, [](Size x) { return Emitter::isConstant(x, 0); })) {
    filled.value = insertSlice(e, *rest, filled.value, borders->before);
    e.noteSizes(filled.value, to);
  }
  node.set(filled);
  return success();
}

//===----------------------------------------------------------------------===//
// EyeLike, Range, OneHot
//===----------------------------------------------------------------------===//

static LogicalResult eyeLikeRule(NodeLowering &node) {
  Emitter &e = node.e;
  Scalars &s = node.s;
  TensorValue data = node.in(0);
  if (data.getRank() != 2)
    return node.fail("expected two axes, got " + Twine(data.getRank()));
  constexpr int64_t most = int64_t(1) << 62;
  int64_t k = std::clamp(node.getInt("k"), -most, most);
  Type element = node.outElement(), type = getComputeType(element);
  node.set(e.generate(e.sizes(data), element, [&](ValueRange indices) {
    Value column = e.index(e.add(Size(indices[0]), e.size(k)));
    Value isOn = s.compare(Scalars::EQ, column, indices[1]);
    return s.select(isOn, s.constant(type, 1), s.constant(type, 0));
  }));
  return success();
}

/// max(ceil((limit - start) / delta), 0) of floats; NaN counts as 0.
static Size getFloatCount(Emitter &e, Value start, Value limit, Value delta) {
  Scalars &s = e.s;
  Value steps = s.math<math::CeilOp>(s.div(s.sub(limit, start), delta));
  Value zero = s.like(steps, 0), most = s.like(steps, 1LL << 40);
  Value isMore = s.compare(Scalars::GT, steps, zero);
  Value isTooMany = s.compare(Scalars::GT, steps, most);
  Value safe = s.select(isTooMany, most, s.select(isMore, steps, zero));
  Value count = arith::FPToSIOp::create(e.b, e.loc, e.b.getI64Type(), safe);
  return Size(s.toIndex(count));
}

static LogicalResult rangeRule(NodeLowering &node) {
  Emitter &e = node.e;
  Scalars &s = node.s;
  Type element = node.outElement();
  Size count;
  Value operands[3];
  for (unsigned index : {0, 1, 2}) {
    FailureOr<Value> value = loadScalar(node, index);
    if (failed(value))
      return failure();
    operands[index] = *value;
  }
  Value start = operands[0], delta = operands[2];
  if (isa<FloatType>(element)) {
    count = getFloatCount(e, start, operands[1], delta);
  } else {
    auto from = node.ints(0), to = node.ints(1), by = node.ints(2);
    if (!from || !to || !by)
      return node.fail("expected three scalars");
    Size zero = e.size(0), step = by->front();
    if (Emitter::isConstant(step, 0))
      return node.fail("'delta' is 0");
    Value isForward = s.compare(Scalars::GT, e.index(step), s.index(0));
    Size length = e.select(isForward, e.sub(to->front(), from->front()),
                           e.sub(from->front(), to->front()));
    Size width = e.select(isForward, step, e.sub(zero, step));
    if (!Emitter::getConstant(step))
      e.check(s.compare(Scalars::GT, e.index(width), s.index(0)),
              "'delta' is %0", step, step);
    count = e.max(e.ceilDiv(e.max(length, zero), width), zero);
  }
  node.set(e.generate(count, element, [&](ValueRange indices) {
    Value i = s.fromIndex(indices[0], start.getType());
    return s.add(start, s.mul(i, delta));
  }));
  return success();
}

/// on if the position along the axis is the index, else off. Indices in
/// [-depth, depth) count.
static LogicalResult oneHotRule(NodeLowering &node) {
  Emitter &e = node.e;
  Scalars &s = node.s;
  TensorValue indices = node.in(0), depths = node.in(1), values = node.in(2);
  Size depth;
  if (depths.isFloat()) {
    FailureOr<Value> given = loadScalar(node, 1);
    if (failed(given))
      return failure();
    Value number = s.convert(*given, depths.element, e.b.getI64Type());
    depth = Size(s.toIndex(number));
  } else if (auto ints = node.ints(1); ints && ints->size() == 1) {
    depth = ints->front();
  } else {
    return node.fail("expected one depth");
  }
  if (Emitter::getConstant(depth).value_or(0) < 0)
    return node.fail("the depth is negative");
  e.check(s.compare(Scalars::GE, e.index(depth), s.index(0)),
          "the depth %0 is negative", depth, depth);
  auto axis = node.axis(indices.getRank() + 1);
  if (failed(axis))
    return failure();
  if (values.getRank() != 1 || !Emitter::isConstant(e.dim(values, 0), 2))
    return node.fail("expected two values, off and on");
  Value off = e.loadAt(values, 0), on = e.loadAt(values, 1);
  Type wide = e.b.getI64Type();
  Value limit = s.fromIndex(e.index(depth), wide);
  TensorValue places = e.map(wide, indices, [&](ValueRange v) {
    Value place = s.convert(v[0], indices.element, wide);
    Value isNegative = s.compare(Scalars::LT, place, s.like(place, 0));
    return s.select(isNegative, s.add(place, limit), place);
  });
  Sizes ones = e.sizes(indices);
  ones.insert(ones.begin() + *axis, e.size(1));
  TensorValue column = e.reshape(places, ones);
  ones[*axis] = depth;
  column = e.broadcastTo(column, ones);
  node.set(e.map(node.outElement(), column, [&](ValueRange v) {
    Value i = linalg::IndexOp::create(e.b, e.loc, *axis);
    Value isOn = s.compare(Scalars::EQ, v[0], s.fromIndex(i, wide));
    return s.select(isOn, on, off);
  }));
  return success();
}

ArrayRef<LoweringRule> getPaddingLowerings() {
  static const LoweringRule rules[] = {
      {"EyeLike", eyeLikeRule},
      {"OneHot", oneHotRule},
      {"Pad", padRule},
      {"Range", rangeRule},
  };
  return rules;
}

} // namespace mp
