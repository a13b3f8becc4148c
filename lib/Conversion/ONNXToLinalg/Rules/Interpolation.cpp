//===- Interpolation.cpp - Images of another size -------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Resizing is linear, axis by axis: each new cell is a sum of some old ones,
// whose positions and weights are stored in tables. Nearest cells are copied
// along all axes at once. Positions are computed in f64: where f32 is not
// exact, rounding would select another cell.
//
//===----------------------------------------------------------------------===//

#include "../Rules.h"

using namespace mlir;
using namespace mp::onnxir;

namespace mp {

namespace {

struct ResizeAxis {
  int64_t axis;
  Size from, to;
  /// The new size over the old one, in f64.
  Value scale;
  /// The part of the image that tf_crop_and_resize takes, in f64.
  Value roiBegin, roiEnd;
};

class Resizing {
public:
  explicit Resizing(NodeLowering &node)
      : node(node), e(node.e), s(node.s), op(node.getNode()),
        f64(e.b.getF64Type()), image(node.in(0)) {}

  LogicalResult run();

private:
  LogicalResult readAttributes();
  LogicalResult readAxes();
  LogicalResult readSizes(ArrayRef<Size> sizes, ArrayRef<int64_t> axes);
  void keepAspect(SmallVectorImpl<ResizeAxis> &all);
  LogicalResult readScales(ArrayRef<int64_t> axes);
  LogicalResult readRoi(ArrayRef<int64_t> axes);
  void checkSize(Size size);
  /// The static size of the result's type, if any; the run checks it.
  Size declare(Size size, int64_t axis);

  Value number(double value) { return s.constant(f64, value); }
  Value toFloat(Size size) { return s.fromIndex(e.index(size), f64); }
  Value floor(Value x) { return s.math<math::FloorOp>(x); }
  /// The place of new cell `i` in the old image.
  Value getPlace(const ResizeAxis &axis, Value i);
  Value isBeyond(const ResizeAxis &axis, Value i);
  Value clamp(const ResizeAxis &axis, Value cell);
  Value weigh(Value distance);
  /// The cells that a new one is made of, relative to its place.
  struct SourceSpan {
    Size first, count;
    /// The scale of their distances, in f64; null for 1.
    Value scale;
  };
  SourceSpan getSourceSpan(const ResizeAxis &axis);
  Value getCell(const ResizeAxis &axis, const SourceSpan &span, Value i,
                Value index);
  TensorValue getWeights(const ResizeAxis &axis, const SourceSpan &span);
  void copyNearest();
  void interpolate(const ResizeAxis &axis);

  NodeLowering &node;
  Emitter &e;
  Scalars &s;
  Operation *op;
  Type f64;
  TensorValue image;
  SmallVector<ResizeAxis> resized;
  std::string mode, transformation, rounding;
  bool smoothes = false, excludesOutside = false;
  double cubic = -0.75;
};

} // namespace

LogicalResult Resizing::readAttributes() {
  bool isUpsample = node.getOpType() == "Upsample";
  bool isFirst = isUpsample || node.getVersion() == 10;
  mode = node.getString("mode").str();
  if (mode == "bilinear")
    mode = "linear";
  transformation = isFirst
                       ? "asymmetric"
                       : node.getString("coordinate_transformation_mode").str();
  rounding = isFirst ? "floor" : node.getString("nearest_mode").str();
  smoothes = node.getFlag("antialias") && mode != "nearest";
  excludesOutside = node.getFlag("exclude_outside");
  cubic = node.getFloat("cubic_coeff_a");
  if (!llvm::is_contained({"nearest", "linear", "cubic"}, mode))
    return node.fail("'mode' is '" + mode + "'");
  if (!llvm::is_contained(
          {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"},
          rounding))
    return node.fail("'nearest_mode' is '" + rounding + "'");
  if (!llvm::is_contained({"half_pixel", "half_pixel_symmetric",
                           "pytorch_half_pixel", "align_corners", "asymmetric",
                           "tf_crop_and_resize", "tf_half_pixel_for_nn"},
                          transformation))
    return node.fail("'coordinate_transformation_mode' is '" + transformation +
                     "'");
  return success();
}

//===----------------------------------------------------------------------===//
// Sizes
//===----------------------------------------------------------------------===//

void Resizing::checkSize(Size size) {
  if (auto known = Emitter::getConstant(size); known && *known >= 0)
    return;
  Value fits = s.compare(Scalars::LE, e.index(size), s.index(int64_t(1) << 31),
                         /*isUnsigned=*/true);
  e.check(fits, "size %0 of its result", size, size);
}

Size Resizing::declare(Size size, int64_t axis) {
  auto type = dyn_cast<RankedTensorType>(op->getResult(0).getType());
  if (Emitter::getConstant(size) || !type ||
      type.getRank() != image.getRank() || type.isDynamicDim(axis))
    return size;
  Size declared = e.size(type.getDimSize(axis));
  e.check(s.compare(Scalars::EQ, e.index(size), e.index(declared)),
          "a size is %0, the model says %1", size, declared);
  return declared;
}

LogicalResult Resizing::readSizes(ArrayRef<Size> sizes,
                                  ArrayRef<int64_t> axes) {
  if (sizes.size() != axes.size())
    return node.fail(Twine(sizes.size()) + " sizes for " + Twine(axes.size()) +
                     " axes");
  Sizes from = e.sizes(image);
  SmallVector<ResizeAxis> all;
  for (auto [axis, to] : llvm::zip(axes, sizes)) {
    checkSize(to);
    Value scale = s.div(toFloat(to), toFloat(from[axis]));
    all.push_back({axis, from[axis], to, scale, Value(), Value()});
  }
  keepAspect(all);
  for (ResizeAxis &axis : all)
    axis.to = declare(axis.to, axis.axis);
  resized = all;
  return success();
}

/// Uses one scale for all axes: the minimum or the maximum.
void Resizing::keepAspect(SmallVectorImpl<ResizeAxis> &all) {
  StringRef policy = node.getString("keep_aspect_ratio_policy", "stretch");
  if (policy == "stretch" || all.empty())
    return;
  Value common = all.front().scale;
  for (const ResizeAxis &axis : all)
    common = policy == "not_larger" ? s.min(common, axis.scale)
                                    : s.max(common, axis.scale);
  for (ResizeAxis &axis : all) {
    axis.scale = common;
    Value size = floor(s.add(s.mul(common, toFloat(axis.from)), number(0.5)));
    axis.to = s.toIndex(s.convert(size, f64, e.b.getI64Type()));
    checkSize(axis.to);
  }
}

/// The floats of a constant; absent for every other value.
static std::optional<SmallVector<double>> getConstantFloats(Value value) {
  Operation *from = value.getDefiningOp();
  if (!from)
    return std::nullopt;
  Attribute elements = from->getAttr("value");
  if (auto initializer = dyn_cast<InitializerOp>(from)) {
    if (initializer.getOverridable())
      return std::nullopt;
    elements = initializer.getValueAttr();
  }
  if (auto tensor = dyn_cast_or_null<TensorAttr>(elements))
    elements = tensor.getValue();
  auto dense = dyn_cast_or_null<DenseFPElementsAttr>(elements);
  if (!dense || dense.getNumElements() > 64)
    return std::nullopt;
  SmallVector<double> result;
  for (APFloat element : dense.getValues<APFloat>()) {
    bool isInexact;
    element.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven,
                    &isInexact);
    result.push_back(element.convertToDouble());
  }
  return result;
}

LogicalResult Resizing::readScales(ArrayRef<int64_t> axes) {
  std::optional<SmallVector<double>> known;
  unsigned index =
      node.getOpType() == "Upsample" || node.getVersion() == 10 ? 1 : 2;
  if (auto list = op->getAttrOfType<DenseF32ArrayAttr>("scales"))
    known = SmallVector<double>(list.asArrayRef());
  else if (node.states("height_scale"))
    known = {1, 1, node.getFloat("height_scale"), node.getFloat("width_scale")};
  else if (!node.has(index))
    return node.fail("neither scales nor sizes are given");
  else
    known = getConstantFloats(op->getOperand(index));
  TensorValue scales;
  if (!known) {
    scales = node.in(index);
    if (scales.getRank() != 1 || !scales.isFloat())
      return node.fail("its scales are no vector of floats");
    Size count = e.dim(scales, 0), want = e.size(axes.size());
    e.check(s.compare(Scalars::EQ, e.index(count), e.index(want)),
            "%0 scales, expected %1", count, want);
  } else if (known->size() != axes.size()) {
    return node.fail(Twine(known->size()) + " scales for " +
                     Twine(axes.size()) + " axes");
  }
  Sizes from = e.sizes(image);
  Type f32 = e.b.getF32Type();
  for (auto [position, axis] : llvm::enumerate(axes)) {
    if (known && !((*known)[position] > 0 && (*known)[position] < 1e9))
      return node.fail("scale " + std::to_string((*known)[position]));
    Value scale = known ? s.constant(f32, (*known)[position])
                        : e.loadAt(scales, position);
    Size to;
    auto extent = Emitter::getConstant(from[axis]);
    if (known && extent) {
      to = e.size(static_cast<int64_t>(
          std::floor(static_cast<float>(*extent) *
                     static_cast<float>((*known)[position]))));
    } else {
      // Sizes are computed in f32, as shape inference does.
      Value cells = s.convert(toFloat(from[axis]), f64, f32);
      Value size = floor(s.mul(cells, scale));
      to = s.toIndex(s.convert(size, f32, e.b.getI64Type()));
    }
    checkSize(to);
    resized.push_back({axis, from[axis], declare(to, axis),
                       s.convert(scale, f32, f64), Value(), Value()});
    if (known && (*known)[position] == 1 && from[axis] == to)
      resized.back().scale = Value();
  }
  return success();
}

LogicalResult Resizing::readRoi(ArrayRef<int64_t> axes) {
  if (transformation != "tf_crop_and_resize")
    return success();
  if (!node.has(1))
    return node.fail("'roi' is missing");
  TensorValue roi = node.in(1);
  if (roi.getRank() != 1 || !roi.isFloat())
    return node.fail("its roi is not a vector of floats");
  Size count = e.dim(roi, 0), want = e.size(2 * axes.size());
  e.check(s.compare(Scalars::EQ, e.index(count), e.index(want)),
          "a roi of %0 numbers, expected %1", count, want);
  for (auto [position, axis] : llvm::enumerate(resized)) {
    auto get = [&](int64_t at) {
      return s.convert(e.loadAt(roi, at), roi.element, f64);
    };
    axis.roiBegin = get(position);
    axis.roiEnd = get(position + axes.size());
    if (!axis.scale)
      axis.scale = number(1);
  }
  return success();
}

LogicalResult Resizing::readAxes() {
  SmallVector<int64_t> axes;
  for (int64_t axis : node.getInts("axes")) {
    FailureOr<int64_t> normal = node.normalizeAxis(axis, image.getRank());
    if (failed(normal))
      return failure();
    axes.push_back(*normal);
  }
  if (!node.states("axes"))
    axes = llvm::to_vector(llvm::seq<int64_t>(0, image.getRank()));
  bool hasSizes = node.getOpType() == "Resize" && node.has(3);
  if (hasSizes) {
    std::optional<Sizes> sizes = node.ints(3);
    if (!sizes)
      return node.fail("the number of its sizes is known at run time only");
    hasSizes = !sizes->empty() || axes.empty();
    if (hasSizes && failed(readSizes(*sizes, axes)))
      return failure();
  }
  if (!hasSizes && failed(readScales(axes)))
    return failure();
  if (failed(readRoi(axes)))
    return failure();
  // An axis of the same size and without roi stays as it is.
  llvm::erase_if(resized, [&](const ResizeAxis &axis) {
    return !axis.roiBegin && axis.from == axis.to &&
           (!axis.scale || hasSizes) &&
           node.getString("keep_aspect_ratio_policy", "stretch") == "stretch";
  });
  for (const ResizeAxis &axis : resized) {
    if (Emitter::getConstant(axis.from).value_or(0) > 0)
      continue;
    Value isEmpty = s.compare(Scalars::EQ, e.index(axis.to), s.index(0));
    Value hasCells = s.compare(Scalars::GT, e.index(axis.from), s.index(0));
    e.check(arith::OrIOp::create(e.b, e.loc, isEmpty, hasCells),
            "%1 cells made of %0", axis.from, axis.to);
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Places
//===----------------------------------------------------------------------===//

Value Resizing::getPlace(const ResizeAxis &axis, Value i) {
  Value x = s.fromIndex(i, f64), half = number(0.5), one = number(1);
  Value from = toFloat(axis.from), scale = axis.scale;
  Value width = s.mul(scale, from), last = s.sub(from, one);
  Value isSingle = s.compare(Scalars::EQ, width, one);
  if (transformation == "asymmetric")
    return s.div(x, scale);
  if (transformation == "tf_half_pixel_for_nn")
    return s.div(s.add(x, half), scale);
  if (transformation == "align_corners")
    return s.select(isSingle, number(0),
                    s.div(s.mul(x, last), s.sub(width, one)));
  if (transformation == "tf_crop_and_resize") {
    Value part = s.mul(s.sub(axis.roiEnd, axis.roiBegin), last);
    Value offset = s.select(isSingle, s.mul(part, half),
                            s.div(s.mul(x, part), s.sub(width, one)));
    return s.add(offset, s.mul(axis.roiBegin, last));
  }
  Value place = s.sub(s.div(s.add(x, half), scale), half);
  if (transformation == "pytorch_half_pixel")
    return s.select(isSingle, number(0), place);
  if (transformation == "half_pixel_symmetric") {
    Value adjustment = s.div(toFloat(axis.to), width);
    Value offset = s.mul(s.mul(from, half), s.sub(one, adjustment));
    return s.add(offset, place);
  }
  return place;
}

/// True if new cell `i` lies outside of the old image and is extrapolated.
Value Resizing::isBeyond(const ResizeAxis &axis, Value i) {
  Value place = getPlace(axis, i);
  Value last = toFloat(e.sub(axis.from, e.size(1)));
  return arith::OrIOp::create(e.b, e.loc,
                              s.compare(Scalars::LT, place, number(0)),
                              s.compare(Scalars::GT, place, last));
}

/// The index of the cell at a place (f64), or the nearest one inside.
Value Resizing::clamp(const ResizeAxis &axis, Value cell) {
  Value index = s.toIndex(s.convert(cell, f64, e.b.getI64Type()));
  Size last = e.sub(axis.from, e.size(1));
  return e.index(e.max(e.min(index, last), e.size(0)));
}

void Resizing::copyNearest() {
  SmallVector<TensorValue> tables;
  for (const ResizeAxis &axis : resized)
    tables.push_back(e.generate(axis.to, e.b.getI64Type(), [&](ValueRange i) {
      Value place = getPlace(axis, i[0]), half = number(0.5), cell;
      if (rounding == "floor")
        cell = floor(place);
      else if (rounding == "ceil")
        cell = s.math<math::CeilOp>(place);
      else if (rounding == "round_prefer_ceil")
        cell = floor(s.add(place, half));
      else
        cell = s.math<math::CeilOp>(s.sub(place, half));
      return s.fromIndex(clamp(axis, cell), e.b.getI64Type());
    }));
  Sizes sizes = e.sizes(image);
  for (const ResizeAxis &axis : resized)
    sizes[axis.axis] = axis.to;
  Type element = node.outElement();
  double outside = node.getFloat("extrapolation_value");
  image = e.generate(sizes, element, [&](ValueRange indices) {
    SmallVector<Value> place(indices);
    for (auto [axis, table] : llvm::zip(resized, tables))
      place[axis.axis] = s.toIndex(e.load(table, indices[axis.axis]));
    Value value = e.load(image, place);
    for (const ResizeAxis &axis : resized)
      if (axis.roiBegin)
        value = s.select(isBeyond(axis, indices[axis.axis]),
                         s.like(value, outside), value);
    return value;
  });
}

/// The weight of a cell at this distance.
Value Resizing::weigh(Value distance) {
  Value x = s.abs(distance), one = number(1);
  if (mode == "linear")
    return s.max(s.sub(one, x), number(0));
  auto polynomial = [&](ArrayRef<double> factors) {
    Value sum = number(0);
    for (double factor : factors)
      sum = s.add(s.mul(sum, x), number(factor));
    return sum;
  };
  Value near = polynomial({cubic + 2, -(cubic + 3), 0, 1});
  Value far = polynomial({cubic, -5 * cubic, 8 * cubic, -4 * cubic});
  Value isFar = s.compare(Scalars::LT, x, number(2));
  return s.select(s.compare(Scalars::LE, x, one), near,
                  s.select(isFar, far, number(0)));
}

/// The cell before the place of `i` and not the one there, `index` cells on.
Value Resizing::getCell(const ResizeAxis &axis, const SourceSpan &span, Value i,
                        Value index) {
  Value base = s.sub(s.math<math::CeilOp>(getPlace(axis, i)), number(1));
  return s.add(base, toFloat(e.add(span.first, index)));
}

Resizing::SourceSpan Resizing::getSourceSpan(const ResizeAxis &axis) {
  int64_t reach = mode == "linear" ? 1 : 2;
  SourceSpan span = {e.size(1 - reach), e.size(2 * reach), Value()};
  if (!smoothes)
    return span;
  // A smaller image is smoothed: its spans are longer.
  span.scale = s.min(axis.scale, number(1));
  Value start = s.add(floor(s.div(number(-reach), span.scale)), number(1));
  span.first = s.toIndex(s.convert(start, f64, e.b.getI64Type()));
  span.count = e.sub(e.size(2), e.mul(e.size(2), span.first));
  checkSize(span.count);
  return span;
}

/// New cells x cells of their spans.
TensorValue Resizing::getWeights(const ResizeAxis &axis,
                                 const SourceSpan &span) {
  TensorValue weights =
      e.generate({axis.to, span.count}, f64, [&](ValueRange i) {
        Value cell = getCell(axis, span, i[0], i[1]);
        Value distance = s.sub(cell, getPlace(axis, i[0]));
        if (span.scale)
          distance = s.mul(distance, span.scale);
        Value weight = weigh(distance);
        if (!excludesOutside)
          return weight;
        Value isInside = arith::AndIOp::create(
            e.b, e.loc, s.compare(Scalars::GE, cell, number(0)),
            s.compare(Scalars::LT, cell, toFloat(axis.from)));
        return s.select(isInside, weight, number(0));
      });
  if (!smoothes && !excludesOutside)
    return weights;
  TensorValue sums =
      e.reduce(weights, 1, true, f64, number(0),
               [&](Value value, Value sum) { return s.add(sum, value); });
  return e.map(f64, {weights, sums},
               [&](ValueRange v) { return s.div(v[0], v[1]); });
}

void Resizing::interpolate(const ResizeAxis &axis) {
  SourceSpan span = getSourceSpan(axis);
  Type type = getComputeType(image.element);
  if (!isa<FloatType>(type))
    type = e.b.getF32Type();
  TensorValue weights = e.cast(getWeights(axis, span), type);
  TensorValue cells =
      e.generate({axis.to, span.count}, e.b.getI64Type(), [&](ValueRange i) {
        Value cell = clamp(axis, getCell(axis, span, i[0], i[1]));
        return s.fromIndex(cell, e.b.getI64Type());
      });
  Sizes sizes = e.sizes(image);
  sizes[axis.axis] = axis.to;
  double outside = node.getFloat("extrapolation_value");
  TensorValue source = image;
  image = e.generate(sizes, type, [&](ValueRange indices) {
    auto add = [&](Value index, ValueRange sum) -> SmallVector<Value> {
      SmallVector<Value> at = {indices[axis.axis], index}, place(indices);
      place[axis.axis] = s.toIndex(e.load(cells, at));
      Value value = s.convert(e.load(source, place), source.element, type);
      return {s.add(sum[0], s.mul(e.load(weights, at), value))};
    };
    Value value = e.loop(e.size(0), span.count, s.constant(type, 0), add)[0];
    if (!axis.roiBegin)
      return value;
    return s.select(isBeyond(axis, indices[axis.axis]), s.like(value, outside),
                    value);
  });
}

LogicalResult Resizing::run() {
  if (failed(readAttributes()) || failed(readAxes()))
    return failure();
  if (resized.empty()) {
    node.forward(0);
    return success();
  }
  Type element = node.outElement();
  if (mode == "nearest") {
    copyNearest();
  } else {
    for (const ResizeAxis &axis : resized)
      interpolate(axis);
    // Integers are rounded, as the reference does.
    TensorValue sums = image;
    image = e.map(element, sums, [&](ValueRange values) {
      Value value = values[0];
      if (!isa<FloatType>(element))
        value = s.math<math::RoundEvenOp>(value);
      return s.convert(value, sums.element, element);
    });
  }
  node.set(image);
  return success();
}

static LogicalResult resizeRule(NodeLowering &node) {
  return Resizing(node).run();
}

ArrayRef<LoweringRule> getInterpolationLowerings() {
  static const LoweringRule rules[] = {
      {"Resize", resizeRule},
      {"Upsample", resizeRule},
  };
  return rules;
}

} // namespace mp
