//===- Interpolation.cpp - Gradients of Resize ----------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Interpolation.h"
#include "mp-opt/Autodiff/NormGradients.h"

#include "Sizes.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace mp::onnxir;

namespace mp {

namespace {

/// One axis: sizes, and positions of new cells among the old ones.
struct ResizedAxis {
  /// Its index among the resized axes, of which there are `count`.
  int64_t index, count;
  Size from, to;
  /// The number of new cells per old one, a vector of one element.
  Value scale;
};

class Transposer {
public:
  Transposer(NodeBuilder &b, const Interpolation &resize)
      : b(b), math(b), resize(resize) {
    Type type = getTensorElementType(resize.image.getType());
    element = type.isF64() ? type : Float32Type::get(b.getContext());
    coordinates =
        resize.node.getString("coordinate_transformation_mode", "half_pixel");
    mode = resize.node.getString("mode", "nearest");
    smoothes = resize.node.getFlag("antialias") && mode != "nearest";
  }

  bool isKnownMode() const;
  Value run();

private:
  Value number(double value) { return b.scalar(value, element); }
  Value floatOf(Size size) { return math.scalar(size, element); }
  Value clamp(Value value, Value low, Value high) {
    return b.create("Min", {b.create("Max", {value, low}), high});
  }
  Value findScale(const ResizedAxis &axis, Value sizes);
  Value findPlaces(const ResizedAxis &axis);
  Value makeNearest(Value places, Value cells, Value last);
  Value makeLinear(Value places, Value cells, Value last);
  Value makeCubic(Value places, Value cells, Value last);
  Value evaluate(Value x, ArrayRef<double> factors);
  Value weigh(Value distance);
  Value makeSmooth(const ResizedAxis &axis, Value places, Value cells,
                   Value last);
  Value makeMatrix(const ResizedAxis &axis);

  NodeBuilder &b;
  SizeMath math;
  const Interpolation &resize;
  Type element;
  StringRef coordinates, mode;
  bool smoothes = false;
};

} // namespace

static constexpr StringLiteral coordinateModes[] = {
    "align_corners",      "asymmetric",           "half_pixel",
    "pytorch_half_pixel", "half_pixel_symmetric", "tf_crop_and_resize"};
static constexpr StringLiteral modes[] = {"cubic", "linear", "nearest"};
static constexpr StringLiteral nearestModes[] = {
    "ceil", "floor", "round_prefer_ceil", "round_prefer_floor"};

bool Transposer::isKnownMode() const {
  return llvm::is_contained(coordinateModes, coordinates) &&
         llvm::is_contained(modes, mode) &&
         llvm::is_contained(
             nearestModes,
             resize.node.getString("nearest_mode", "round_prefer_floor"));
}

//===----------------------------------------------------------------------===//
// Positions
//===----------------------------------------------------------------------===//

/// The scale as given, or the ratio of sizes; the same for all axes if the
/// ratio of sizes is kept.
Value Transposer::findScale(const ResizedAxis &axis, Value sizes) {
  if (resize.scales)
    return b.castTo(b.slice(resize.scales, 0, axis.index, axis.index + 1),
                    element);
  StringRef policy =
      resize.node.getString("keep_aspect_ratio_policy", "stretch");
  if (policy == "stretch" || !sizes)
    return b.div(floatOf(axis.to), floatOf(axis.from));
  return sizes;
}

/// The positions of the new cells in the coordinates of the old ones, which are
/// numbered from 0.
Value Transposer::findPlaces(const ResizedAxis &axis) {
  Value cells = b.castTo(math.range(axis.to), element);
  Value half = number(0.5), one = number(1);
  auto halfPixel = [&] {
    return b.sub(b.div(b.add(cells, half), axis.scale), half);
  };
  if (coordinates == "asymmetric")
    return b.div(cells, axis.scale);
  if (coordinates == "half_pixel")
    return halfPixel();
  if (coordinates == "half_pixel_symmetric") {
    Value length = b.mul(axis.scale, floatOf(axis.from));
    Value rest = b.sub(one, b.div(floatOf(axis.to), length));
    return b.add(b.mul(b.mul(floatOf(axis.from), half), rest), halfPixel());
  }
  Value isSingle = b.create("Equal", {axis.to.getValue(b), b.ints(1)});
  if (coordinates == "pytorch_half_pixel")
    return b.where(isSingle, number(0), halfPixel());
  // From the first cell to the last one.
  Value steps = floatOf(math.max(math.sub(axis.to, 1), 1));
  Value last = floatOf(math.sub(axis.from, 1));
  Value even = b.div(b.mul(cells, last), steps);
  if (coordinates == "align_corners")
    return b.where(isSingle, number(0), even);
  auto roi = [&](int64_t index) {
    return b.castTo(b.slice(resize.roi, 0, index, index + 1), element);
  };
  Value start = roi(axis.index), end = roi(axis.index + axis.count);
  Value inside = b.add(b.mul(start, last), b.mul(even, b.sub(end, start)));
  return b.where(isSingle, b.mul(b.mul(half, b.add(start, end)), last), inside);
}

//===----------------------------------------------------------------------===//
// Weights
//===----------------------------------------------------------------------===//

/// `places` is a column, `cells` the indices of the old cells, `last` the last
/// index.
Value Transposer::makeNearest(Value places, Value cells, Value last) {
  StringRef rounding =
      resize.node.getString("nearest_mode", "round_prefer_floor");
  bool isUp = rounding == "ceil" || rounding == "round_prefer_floor";
  double shift = llvm::StringSwitch<double>(rounding)
                     .Case("round_prefer_floor", -0.5)
                     .Case("round_prefer_ceil", 0.5)
                     .Default(0);
  Value shifted = shift == 0 ? places : b.add(places, number(shift));
  Value chosen = b.create(isUp ? "Ceil" : "Floor", {shifted});
  return b.castTo(b.create("Equal", {clamp(chosen, number(0), last), cells}),
                  element);
}

/// The weights are a hat function around each position.
Value Transposer::makeLinear(Value places, Value cells, Value last) {
  Value distance =
      b.create("Abs", {b.sub(clamp(places, number(0), last), cells)});
  return b.create("Relu", {b.sub(number(1), distance)});
}

/// Evaluates a polynomial of `x`, highest power first, by Horner's rule.
Value Transposer::evaluate(Value x, ArrayRef<double> factors) {
  Value sum = number(factors.front());
  for (double factor : factors.drop_front())
    sum = b.add(b.mul(sum, x), number(factor));
  return sum;
}

/// Each place reads four cells; those outside count for the cell at the edge,
/// or not at all.
Value Transposer::makeCubic(Value places, Value cells, Value last) {
  double a = resize.node.getFloat("cubic_coeff_a", -0.75);
  bool excludes = resize.node.getInt("exclude_outside", 0);
  Value floor = b.create("Floor", {places});
  SmallVector<Value> sources, weights;
  for (int64_t offset : {-1, 0, 1, 2}) {
    Value position = b.add(floor, number(double(offset)));
    Value d = b.create("Abs", {b.sub(places, position)});
    Value weight = offset == 0 || offset == 1
                       ? evaluate(d, {a + 2, -(a + 3), 0, 1})
                       : evaluate(d, {a, -5 * a, 8 * a, -4 * a});
    Value nearest = clamp(position, number(0), last);
    if (excludes)
      weight =
          b.where(b.create("Equal", {position, nearest}), weight, number(0));
    sources.push_back(nearest);
    weights.push_back(weight);
  }
  SmallVector<Value> parts;
  for (auto [source, weight] : llvm::zip(sources, weights))
    parts.push_back(
        b.where(b.create("Equal", {source, cells}), weight, number(0)));
  Value matrix = b.create("Sum", parts);
  return excludes ? b.div(matrix, b.create("Sum", weights)) : matrix;
}

/// The weight of a cell at this distance.
Value Transposer::weigh(Value distance) {
  Value x = b.create("Abs", {distance});
  if (mode == "linear")
    return b.create("Relu", {b.sub(number(1), x)});
  double a = resize.node.getFloat("cubic_coeff_a", -0.75);
  Value near = evaluate(x, {a + 2, -(a + 3), 0, 1});
  Value far = evaluate(x, {a, -5 * a, 8 * a, -4 * a});
  Value outer = b.where(b.create("Less", {x, number(2)}), far, number(0));
  return b.where(b.create("Less", {x, number(1)}), near, outer);
}

/// Smaller images are smoothed: weights reach farther in proportion, and their
/// sum is normalized to 1. The weights of cells outside count for the cell at
/// the edge.
Value Transposer::makeSmooth(const ResizedAxis &axis, Value places, Value cells,
                             Value last) {
  Value scale = b.create("Min", {axis.scale, number(1)});
  bool excludes = resize.node.getInt("exclude_outside", 0);
  Value all = cells, kept;
  if (!excludes) {
    // No cell with a weight is farther outside: a scale is at least (to - 1/2)
    // / from.
    Size width = math.max(math.sub(math.mul(axis.to, 2), 1), 1);
    Size steps = math.add(math.div(math.mul(axis.from, 2), width), 1);
    Size margin = math.add(math.mul(steps, mode == "linear" ? 1 : 2), 2);
    Size count = math.add(axis.from, math.mul(margin, 2));
    all = b.sub(b.castTo(math.range(count), element), floatOf(margin));
    Value inside = b.unsqueeze(clamp(all, number(0), last), 1);
    kept = b.castTo(b.create("Equal", {inside, cells}), element);
  }
  Value weights = weigh(b.mul(b.sub(all, places), scale));
  weights = b.div(weights, b.reduceSum(weights, 1, /*keepDims=*/true));
  return kept ? b.matmul(weights, kept) : weights;
}

Value Transposer::makeMatrix(const ResizedAxis &axis) {
  Value places = b.unsqueeze(findPlaces(axis), 1);
  Value cells = b.castTo(math.range(axis.from), element);
  Value last = floatOf(math.sub(axis.from, 1));
  Value matrix = smoothes            ? makeSmooth(axis, places, cells, last)
                 : mode == "nearest" ? makeNearest(places, cells, last)
                 : mode == "linear"  ? makeLinear(places, cells, last)
                                     : makeCubic(places, cells, last);
  if (coordinates != "tf_crop_and_resize")
    return matrix;
  // Outside, the result is a constant that does not depend on the image.
  Value isInside = b.create("Equal", {places, clamp(places, number(0), last)});
  return b.where(isInside, matrix, number(0));
}

//===----------------------------------------------------------------------===//
// Axes
//===----------------------------------------------------------------------===//

/// Elements of a small constant; empty for other values.
static SmallVector<double> getConstantFloats(Value value) {
  Operation *op = value ? value.getDefiningOp() : nullptr;
  Attribute held;
  if (auto initializer = dyn_cast_or_null<InitializerOp>(op))
    held =
        initializer.getOverridable() ? TypedAttr() : initializer.getValueAttr();
  else if (op && isStandardOp(op, "Constant"))
    held = op->getAttr("value");
  auto elements = dyn_cast_or_null<DenseElementsAttr>(held);
  if (!elements || elements.getNumElements() > 64 ||
      !isa<FloatType>(elements.getElementType()))
    return {};
  return llvm::map_to_vector(elements.getValues<APFloat>(), [](APFloat number) {
    return number.convertToDouble();
  });
}

/// `value` times `matrix` along `axis`.
static Value contract(NodeBuilder &b, Value value, int64_t axis, int64_t rank,
                      Value matrix) {
  if (axis == rank - 1)
    return b.matmul(value, matrix);
  if (axis == rank - 2)
    return b.matmul(b.transpose(matrix, {1, 0}), value);
  auto order = llvm::to_vector(llvm::seq<int64_t>(rank));
  std::swap(order[axis], order[rank - 1]);
  return b.transpose(b.matmul(b.transpose(value, order), matrix), order);
}

Value Transposer::run() {
  int64_t rank = *NodeBuilder::getRank(resize.image);
  SmallVector<int64_t> axes = resize.node.getInts("axes");
  if (axes.empty())
    axes = llvm::to_vector(llvm::seq<int64_t>(rank));
  SmallVector<double> scales = getConstantFloats(resize.scales);
  StringRef policy =
      resize.node.getString("keep_aspect_ratio_policy", "stretch");
  Value common;
  if (!resize.scales && resize.sizes && policy != "stretch") {
    SmallVector<Size> old;
    for (int64_t axis : axes)
      old.push_back(math.of(resize.image, axis < 0 ? axis + rank : axis));
    Value ratios = b.div(b.castTo(resize.sizes, element),
                         b.castTo(math.vector(old), element));
    common = b.create(policy == "not_larger" ? "ReduceMin" : "ReduceMax",
                      {ratios}, b.attr("keepdims", int64_t(0)));
  }
  Value grad = widen(b, resize.grad);
  for (auto [index, stated] : llvm::enumerate(axes)) {
    int64_t place = stated < 0 ? stated + rank : stated;
    ResizedAxis axis{int64_t(index),
                     int64_t(axes.size()),
                     math.of(resize.image, place),
                     math.of(resize.grad, place),
                     {}};
    bool isSame = resize.scales
                      ? index < scales.size() && scales[index] == 1
                      : axis.from.isKnown() && axis.to.is(axis.from.get());
    if (isSame && coordinates != "tf_crop_and_resize")
      continue;
    axis.scale = findScale(axis, common);
    grad = contract(b, grad, place, rank, makeMatrix(axis));
  }
  return b.castLike(grad, resize.grad);
}

/// Models before Resize-13 pass a tensor without elements for an absent
/// operand.
static Value dropEmpty(Value value) {
  auto shape = value ? NodeBuilder::getShape(value) : std::nullopt;
  return shape && llvm::is_contained(*shape, 0) ? Value() : value;
}

Value getResizeGradient(NodeBuilder &b, Interpolation resize,
                        StringRef &reason) {
  for (Value *optional : {&resize.roi, &resize.scales, &resize.sizes})
    *optional = dropEmpty(*optional);
  auto rank = NodeBuilder::getRank(resize.image);
  bool axesFit =
      rank && llvm::all_of(resize.node.getInts("axes"), [&](int64_t axis) {
        return axis >= -*rank && axis < *rank;
      });
  Transposer transposer(b, resize);
  if (!rank)
    reason = "the rank of its operand is unknown";
  else if (!axesFit)
    reason = "its axes do not fit its operand";
  else if (!transposer.isKnownMode())
    reason = "there is no gradient for this mode";
  else if (!resize.roi &&
           resize.node.getString("coordinate_transformation_mode", "") ==
               "tf_crop_and_resize")
    reason = "expected a region of interest";
  else
    return transposer.run();
  return {};
}

} // namespace mp
