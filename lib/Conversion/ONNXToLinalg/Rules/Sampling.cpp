//===- Sampling.cpp - Images read between their cells ---------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Positions are data: each read is kept inside the image for any position.
//
//===----------------------------------------------------------------------===//

#include "../Contractions.h"
#include "../Convolutions.h"
#include "../Rules.h"
#include "mp-opt/Dialect/Kernel/Kernel.h"

using namespace mlir;

namespace mp {

namespace {

enum class Outside { Zeros, Border, Reflection };
enum class Interpolation { Nearest, Linear, Cubic };

/// Reads an image (N x C x ...) at places between its cells.
struct Sampler {
  Emitter &e;
  TensorValue image;
  Interpolation mode = Interpolation::Linear;
  Outside outside = Outside::Zeros;
  /// The image ends at its outer cells' centers, not at their edges.
  bool alignsCorners = true;

  Type getType() const {
    Type type = getComputeType(image.element);
    return isa<FloatType>(type) ? type : Type(e.b.getF32Type());
  }
  /// The value at `places` (of `getType`) of an image of the batch.
  Value sample(Value batch, Value channel, ArrayRef<Value> places);
  /// The size of a spatial axis, as a float.
  Value getExtent(unsigned axis) {
    return e.s.fromIndex(e.index(e.dim(image, 2 + axis)), getType());
  }

private:
  Value reflect(Value x, unsigned axis);
  Value keepInside(Value x, unsigned axis);
  Value weigh(Value distance);
};

} // namespace

Value Sampler::reflect(Value x, unsigned axis) {
  Scalars &s = e.s;
  double edge = alignsCorners ? 0 : -0.5;
  Value low = s.like(x, edge);
  Value range = s.add(getExtent(axis), s.like(x, alignsCorners ? -1 : 0));
  // A range of one cell has nothing to reflect.
  Value hasRange = s.compare(Scalars::GT, range, s.like(x, 0));
  Value safe = s.select(hasRange, range, s.like(x, 1));
  Value distance = s.abs(s.sub(x, low));
  Value turns = s.math<math::FloorOp>(s.div(distance, safe));
  Value rest = s.sub(distance, s.mul(turns, safe));
  Value half = s.mul(turns, s.like(x, 0.5));
  Value isEven = s.compare(Scalars::EQ, half, s.math<math::FloorOp>(half));
  Value offset = s.select(isEven, rest, s.sub(safe, rest));
  return s.select(hasRange, s.add(low, offset), s.like(x, 0));
}

Value Sampler::keepInside(Value x, unsigned axis) {
  Scalars &s = e.s;
  Value last = s.sub(getExtent(axis), s.like(x, 1));
  if (outside == Outside::Border)
    return s.max(s.min(x, last), s.like(x, 0));
  if (outside == Outside::Zeros)
    return x;
  double edge = alignsCorners ? 0 : 0.5;
  Value isInside = arith::AndIOp::create(
      e.b, e.loc, s.compare(Scalars::GE, x, s.like(x, -edge)),
      s.compare(Scalars::LE, x, s.add(last, s.like(x, edge))));
  return s.select(isInside, x, reflect(x, axis));
}

Value Sampler::weigh(Value distance) {
  Scalars &s = e.s;
  Value x = s.abs(distance), one = s.like(x, 1);
  if (mode == Interpolation::Nearest)
    return one;
  if (mode == Interpolation::Linear)
    return s.max(s.sub(one, x), s.like(x, 0));
  auto polynomial = [&](ArrayRef<double> factors) {
    Value sum = s.like(x, 0);
    for (double factor : factors)
      sum = s.add(s.mul(sum, x), s.like(x, factor));
    return sum;
  };
  constexpr double a = -0.75;
  return s.select(s.compare(Scalars::LE, x, one),
                  polynomial({a + 2, -(a + 3), 0, 1}),
                  polynomial({a, -5 * a, 8 * a, -4 * a}));
}

Value Sampler::sample(Value batch, Value channel, ArrayRef<Value> places) {
  Scalars &s = e.s;
  unsigned rank = places.size();
  int64_t reads = mode == Interpolation::Nearest  ? 1
                  : mode == Interpolation::Linear ? 2
                                                  : 4;
  SmallVector<Value> at, base;
  for (unsigned axis = 0; axis < rank; ++axis) {
    Value x = places[axis];
    if (mode == Interpolation::Nearest)
      x = s.math<math::RoundEvenOp>(x);
    // A cubic repeats the edges cell by cell, as torch and onnxruntime have it.
    if (mode != Interpolation::Cubic || outside != Outside::Border)
      x = keepInside(x, axis);
    at.push_back(x);
    Value low = mode == Interpolation::Nearest ? x : s.math<math::FloorOp>(x);
    base.push_back(mode == Interpolation::Cubic ? s.sub(low, s.like(x, 1))
                                                : low);
  }
  Value zero = s.constant(getType(), 0);
  auto add = [&](ValueRange offsets, ValueRange sum) -> SmallVector<Value> {
    SmallVector<Value> index = {batch, channel};
    Value isInside = s.integer(e.b.getI1Type(), 1), weight = s.like(zero, 1);
    for (unsigned axis = 0; axis < rank; ++axis) {
      Value cell = s.add(base[axis], s.fromIndex(offsets[axis], getType()));
      weight = s.mul(weight, weigh(s.sub(cell, at[axis])));
      cell = keepInside(cell, axis);
      Value extent = getExtent(axis);
      Value fits =
          arith::AndIOp::create(e.b, e.loc, s.compare(Scalars::GE, cell, zero),
                                s.compare(Scalars::LT, cell, extent));
      if (outside == Outside::Zeros)
        isInside = arith::AndIOp::create(e.b, e.loc, isInside, fits);
      Value position = s.toIndex(s.convert(cell, getType(), e.b.getI64Type()));
      Size last = e.sub(e.dim(image, 2 + axis), e.size(1));
      index.push_back(e.index(e.max(e.min(position, last), e.size(0))));
    }
    Value value = s.convert(e.load(image, index), image.element, getType());
    value = s.select(isInside, value, zero);
    return {s.add(sum[0], s.mul(weight, value))};
  };
  return e.loopNest(Sizes(rank, e.size(reads)), zero, add)[0];
}

/// There are cells to read where the result has any.
static void checkCells(NodeLowering &node, TensorValue image,
                       ArrayRef<Size> result) {
  Emitter &e = node.e;
  Scalars &s = node.s;
  Sizes sizes = e.sizes(image);
  Size cells = e.product(ArrayRef<Size>(sizes).drop_front(2));
  Value hasCells = s.compare(Scalars::GT, e.index(cells), s.index(0));
  Value isEmpty =
      s.compare(Scalars::EQ, e.index(e.product(result)), s.index(0));
  e.check(arith::OrIOp::create(e.b, e.loc, hasCells, isEmpty),
          "an image of %0 cells", cells, cells);
}

static void expectSize(NodeLowering &node, Size have, Size want,
                       const Twine &what) {
  Emitter &e = node.e;
  if (have != want)
    e.check(node.s.compare(Scalars::EQ, e.index(have), e.index(want)),
            "%0 " + what + ", expected %1", have, want);
}

//===----------------------------------------------------------------------===//
// GridSample
//===----------------------------------------------------------------------===//

static LogicalResult gridSampleRule(NodeLowering &node) {
  Emitter &e = node.e;
  Scalars &s = node.s;
  TensorValue image = node.in(0), grid = node.in(1);
  int64_t rank = image.getRank() - 2;
  if (rank < 1 || grid.getRank() != rank + 2)
    return node.fail("a grid of " + Twine(grid.getRank()) +
                     " axes for an image of " + Twine(image.getRank()));
  StringRef mode = node.getString("mode");
  StringRef padding = node.getString("padding_mode");
  Sampler sampler{e, image};
  sampler.mode = mode == "nearest"          ? Interpolation::Nearest
                 : mode.ends_with("linear") ? Interpolation::Linear
                                            : Interpolation::Cubic;
  sampler.outside = padding == "zeros"    ? Outside::Zeros
                    : padding == "border" ? Outside::Border
                                          : Outside::Reflection;
  sampler.alignsCorners = node.getFlag("align_corners");
  Sizes from = e.sizes(image), places = e.sizes(grid);
  expectSize(node, places[0], from[0], "images in the grid");
  expectSize(node, places.back(), e.size(rank), "coordinates in the grid");
  Sizes sizes = {from[0], from[1]};
  sizes.append(places.begin() + 1, places.end() - 1);
  checkCells(node, image, sizes);
  Type type = sampler.getType();
  node.set(e.generate(sizes, node.outElement(), [&](ValueRange i) {
    SmallVector<Value> at, index = {i[0]};
    llvm::append_range(index, i.drop_front(2));
    index.push_back(Value());
    // Coordinates go from the last axis to the first, and from -1 to 1.
    for (int64_t axis = 0; axis < rank; ++axis) {
      index.back() = s.index(rank - 1 - axis);
      Value x = s.convert(e.load(grid, index), grid.element, type);
      Value one = s.like(x, 1), half = s.like(x, 0.5);
      Value extent = sampler.getExtent(axis), shifted = s.add(x, one);
      at.push_back(sampler.alignsCorners
                       ? s.mul(s.mul(shifted, half), s.sub(extent, one))
                       : s.mul(s.sub(s.mul(shifted, extent), one), half));
    }
    return sampler.sample(i[0], i[1], at);
  }));
  return success();
}

//===----------------------------------------------------------------------===//
// AffineGrid
//===----------------------------------------------------------------------===//

/// (theta, size): theta is N x r x (r + 1), the result N x sizes x r.
static LogicalResult affineGridRule(NodeLowering &node) {
  Emitter &e = node.e;
  Scalars &s = node.s;
  TensorValue theta = node.in(0);
  std::optional<Sizes> size = node.ints(1);
  if (theta.getRank() != 3 || !size || size->size() < 3)
    return node.fail("expected an operand of 3 axes and at least 3 sizes");
  int64_t rank = size->size() - 2;
  Sizes from = e.sizes(theta);
  expectSize(node, from[0], (*size)[0], "transformations");
  expectSize(node, from[1], e.size(rank), "rows of a transformation");
  expectSize(node, from[2], e.size(rank + 1), "columns of a transformation");
  Sizes sizes = {from[0]};
  for (Size extent : ArrayRef<Size>(*size).drop_front(2)) {
    e.check(s.compare(Scalars::GE, e.index(extent), s.index(0)),
            "size %0 is negative", extent, extent);
    sizes.push_back(extent);
  }
  sizes.push_back(e.size(rank));
  bool alignsCorners = node.getFlag("align_corners");
  Type type = getComputeType(theta.element);
  // Cells of an axis lie in [-1, 1], with their centers or edges at the ends.
  auto getPlace = [&](Value i, Size extent) {
    Value twice = s.fromIndex(e.index(e.mul(i, e.size(2))), type);
    Value one = s.constant(type, 1);
    if (!alignsCorners) {
      Value cells = s.fromIndex(e.index(extent), type);
      return s.sub(s.div(s.add(twice, one), cells), one);
    }
    Size steps = e.max(e.sub(extent, e.size(1)), e.size(1));
    return s.sub(s.div(twice, s.fromIndex(e.index(steps), type)), one);
  };
  node.set(e.generate(sizes, node.outElement(), [&](ValueRange i) {
    Value sum = e.load(theta, {i[0], i[1 + rank], s.index(rank)});
    // Columns go from the last axis to the first.
    for (int64_t column = 0; column < rank; ++column) {
      int64_t axis = rank - column;
      Value factor = e.load(theta, {i[0], i[1 + rank], s.index(column)});
      sum = s.add(sum, s.mul(factor, getPlace(i[axis], sizes[axis])));
    }
    return sum;
  }));
  return success();
}

//===----------------------------------------------------------------------===//
// RoiAlign
//===----------------------------------------------------------------------===//

namespace {

/// One axis of a bin: `count` points after `start`, `step` apart.
struct RoiPoints {
  Value start, step;
  Size count;
};

struct RoiPooling {
  NodeLowering &node;
  TensorValue image, rois;
  int64_t sampling;
  double scale;
  bool isHalfPixel, isMax;

  RoiPoints getPoints(Value roi, unsigned axis, Value bin, Size bins);
  /// The cells around a place and their weights; weights are 0 outside.
  std::pair<SmallVector<Value>, SmallVector<Value>> split(Value x,
                                                          unsigned axis);
  Value pool(ValueRange indices, Value batch, ArrayRef<Size> bins);
};

} // namespace

RoiPoints RoiPooling::getPoints(Value roi, unsigned axis, Value bin,
                                Size bins) {
  Emitter &e = node.e;
  Scalars &s = node.s;
  Type type = getComputeType(image.element);
  auto get = [&](int64_t column) {
    Value value =
        s.convert(e.load(rois, {roi, s.index(column)}), rois.element, type);
    value = s.mul(value, s.like(value, scale));
    return isHalfPixel ? s.sub(value, s.like(value, 0.5)) : value;
  };
  // Columns are x, y: the last axis first.
  Value start = get(1 - axis), extent = s.sub(get(3 - axis), start);
  if (!isHalfPixel)
    extent = s.max(extent, s.like(extent, 1));
  Value step = s.div(extent, s.fromIndex(e.index(bins), type));
  Size count = e.size(sampling);
  if (sampling <= 0) {
    Value points = s.math<math::CeilOp>(step);
    Value number = s.toIndex(s.convert(points, type, e.b.getI64Type()));
    constexpr int64_t most = 1 << 16;
    Value fits = s.compare(Scalars::LE, number, s.index(most));
    count = e.checked(fits, "%0 points in a bin, expected at most %1", number,
                      e.size(most), s.index(0));
  }
  start = s.add(start, s.mul(s.fromIndex(bin, type), step));
  return {start, s.div(step, s.fromIndex(e.index(count), type)), count};
}

std::pair<SmallVector<Value>, SmallVector<Value>>
RoiPooling::split(Value x, unsigned axis) {
  Emitter &e = node.e;
  Scalars &s = node.s;
  Type type = x.getType();
  Size extent = e.dim(image, 2 + axis), end = e.sub(extent, e.size(1));
  Value last = s.fromIndex(e.index(end), type);
  Value fits = arith::AndIOp::create(
      e.b, e.loc, s.compare(Scalars::GE, x, s.like(x, -1)),
      s.compare(Scalars::LE, x, s.fromIndex(e.index(extent), type)));
  x = s.min(s.max(x, s.like(x, 0)), last);
  Value low = s.math<math::FloorOp>(x), part = s.sub(x, low);
  auto weigh = [&](Value weight) {
    return s.select(fits, weight, s.like(x, 0));
  };
  Value index = s.toIndex(s.convert(low, type, e.b.getI64Type()));
  Value first = e.index(e.max(e.min(index, end), e.size(0)));
  Value second = e.index(e.min(e.add(first, e.size(1)), end));
  return {{first, second}, {weigh(s.sub(s.like(x, 1), part)), weigh(part)}};
}

Value RoiPooling::pool(ValueRange i, Value batch, ArrayRef<Size> bins) {
  Emitter &e = node.e;
  Scalars &s = node.s;
  Type type = getComputeType(image.element);
  RoiPoints points[] = {getPoints(i[0], 0, i[2], bins[0]),
                        getPoints(i[0], 1, i[3], bins[1])};
  Value zero = s.constant(type, 0);
  auto add = [&](ValueRange at, ValueRange sum) -> SmallVector<Value> {
    SmallVector<std::pair<SmallVector<Value>, SmallVector<Value>>, 2> axes;
    for (unsigned axis : {0, 1}) {
      Value part = s.add(s.fromIndex(at[axis], type), s.constant(type, 0.5));
      axes.push_back(split(
          s.add(points[axis].start, s.mul(part, points[axis].step)), axis));
    }
    Value total;
    for (unsigned y : {0, 1})
      for (unsigned x : {0, 1}) {
        Value value =
            e.load(image, {batch, i[1], axes[0].first[y], axes[1].first[x]});
        Value weight = s.mul(axes[0].second[y], axes[1].second[x]);
        Value term = s.mul(weight, value);
        if (!total)
          total = term;
        else
          total = isMax ? s.max(total, term) : s.add(total, term);
      }
    return {isMax ? s.max(sum[0], total) : s.add(sum[0], total)};
  };
  Value start = isMax ? s.constant(type, -INFINITY) : zero;
  Size count = e.mul(points[0].count, points[1].count);
  Value result = e.loopNest({points[0].count, points[1].count}, start, add)[0];
  if (!isMax)
    return s.div(result, s.fromIndex(e.index(e.max(count, e.size(1))), type));
  Value hasPoints = s.compare(Scalars::GT, e.index(count), s.index(0));
  return s.select(hasPoints, result, zero);
}

static LogicalResult roiAlignRule(NodeLowering &node) {
  Emitter &e = node.e;
  Scalars &s = node.s;
  TensorValue image = node.in(0), rois = node.in(1), batches = node.in(2);
  if (image.getRank() != 4 || rois.getRank() != 2 || batches.getRank() != 1)
    return node.fail("expected an image of 4 axes, rois of 2 and indices of 1");
  Sizes from = e.sizes(image);
  Size count = e.dim(rois, 0);
  expectSize(node, e.dim(rois, 1), e.size(4), "numbers of a roi");
  expectSize(node, e.dim(batches, 0), count, "indices of images");
  int64_t height = node.getInt("output_height");
  int64_t width = node.getInt("output_width");
  int64_t sampling = node.getInt("sampling_ratio");
  constexpr int64_t most = 1 << 16;
  if (height < 0 || width < 0 || height > most || width > most ||
      sampling > most)
    return node.fail("a result of " + Twine(height) + " x " + Twine(width) +
                     " bins");
  // Before opset 16, there was no half-pixel shift.
  bool isHalfPixel =
      node.getString("coordinate_transformation_mode") == "half_pixel";
  RoiPooling pooling{node,
                     image,
                     rois,
                     sampling,
                     node.getFloat("spatial_scale"),
                     isHalfPixel,
                     node.getString("mode") == "max"};
  Sizes bins = {e.size(height), e.size(width)};
  Sizes sizes = {count, from[1], bins[0], bins[1]};
  checkCells(node, image, sizes);
  Value hasImages = s.compare(Scalars::GT, e.index(from[0]), s.index(0));
  Value isEmpty = s.compare(Scalars::EQ, e.index(count), s.index(0));
  e.check(arith::OrIOp::create(e.b, e.loc, hasImages, isEmpty), "%0 images",
          from[0], from[0]);
  node.set(e.generate(sizes, node.outElement(), [&](ValueRange i) {
    Value batch = e.checkedIndex(s.toIndex(e.load(batches, i[0])), from[0]);
    return pooling.pool(i, batch, bins);
  }));
  return success();
}

//===----------------------------------------------------------------------===//
// DeformConv
//===----------------------------------------------------------------------===//

namespace {

struct DeformOperands {
  TensorValue image, offsets, mask;
  int64_t groups;
};

} // namespace

/// The cells that each window's filter positions read: N x C x kernel x counts.
static TensorValue gatherFilterCells(NodeLowering &node,
                                     const DeformOperands &from,
                                     const SlidingWindows &windows) {
  Emitter &e = node.e;
  Scalars &s = node.s;
  unsigned rank = windows.size();
  Sizes sizes = e.sizes(from.image);
  Size each = e.floorDiv(sizes[1], e.size(from.groups));
  sizes.truncate(2);
  llvm::append_range(sizes, collect(windows, &SlidingAxis::kernel));
  llvm::append_range(sizes, collect(windows, &SlidingAxis::count));
  Sampler sampler{e, from.image};
  Type type = sampler.getType();
  return e.generate(sizes, from.image.element, [&](ValueRange i) {
    Size position = e.floorDiv(i[1], each);
    for (unsigned axis = 0; axis < rank; ++axis)
      position = e.add(e.mul(position, windows[axis].kernel), i[2 + axis]);
    SmallVector<Value> index = {i[0], Value()}, at;
    llvm::append_range(index, i.drop_front(2 + rank));
    for (unsigned axis = 0; axis < rank; ++axis) {
      index[1] = e.index(e.add(e.mul(position, e.size(rank)), e.size(axis)));
      Value moved =
          s.convert(e.load(from.offsets, index), from.offsets.element, type);
      const SlidingAxis &window = windows[axis];
      Size cell = e.add(e.mul(i[2 + rank + axis], e.size(window.stride)),
                        e.mul(i[2 + axis], e.size(window.dilation)));
      cell = e.sub(cell, window.begin);
      at.push_back(s.add(s.fromIndex(e.index(cell), type), moved));
    }
    Value value = sampler.sample(i[0], i[1], at);
    if (!from.mask)
      return value;
    index[1] = e.index(position);
    return s.mul(value,
                 s.convert(e.load(from.mask, index), from.mask.element, type));
  });
}

/// The maps of filter positions, weight and result, over n, (g,) f, counts, c,
/// kernel.
static SmallVector<AffineMap> getFilterMaps(MLIRContext *context,
                                            unsigned rank) {
  unsigned next = 0;
  auto take = [&](unsigned count) {
    SmallVector<AffineExpr> dims;
    for (unsigned i = 0; i < count; ++i)
      dims.push_back(getAffineDimExpr(next++, context));
    return dims;
  };
  auto batch = take(1), group = take(1), filter = take(1), space = take(rank),
       channel = take(1), filterPositions = take(rank);
  auto get = [&](ArrayRef<ArrayRef<AffineExpr>> parts) {
    SmallVector<AffineExpr> exprs;
    for (ArrayRef<AffineExpr> part : parts)
      llvm::append_range(exprs, part);
    return AffineMap::get(next, 0, exprs, context);
  };
  return {get({batch, group, channel, filterPositions, space}),
          get({group, filter, channel, filterPositions}),
          get({batch, group, filter, space})};
}

/// Reads offsets and mask (operands 2 and 4) of a convolution of `image`.
static FailureOr<DeformOperands>
readDeformation(NodeLowering &node, TensorValue image,
                const SlidingWindows &windows) {
  Emitter &e = node.e;
  DeformOperands from{image, node.in(2), TensorValue(),
                      node.getInt("offset_group")};
  auto channels = Emitter::getConstant(e.dim(image, 1));
  if (from.groups < 1 || !channels || *channels % from.groups != 0) {
    (void)node.fail(Twine(from.groups) +
                    " groups of offsets do not divide its channels");
    return failure();
  }
  Sizes counts = collect(windows, &SlidingAxis::count);
  Size positions = e.mul(e.product(collect(windows, &SlidingAxis::kernel)),
                         e.size(from.groups));
  auto verify = [&](TensorValue operand, Size rows) -> LogicalResult {
    if (operand.getRank() != image.getRank())
      return node.fail("offsets or a mask of " + Twine(operand.getRank()) +
                       " axes, expected " + Twine(image.getRank()));
    expectSize(node, e.dim(operand, 0), e.dim(image, 0),
               "images in an operand");
    expectSize(node, e.dim(operand, 1), rows, "rows in an operand");
    for (auto [axis, count] : llvm::enumerate(counts))
      expectSize(node, e.dim(operand, 2 + axis), count,
                 "windows in an operand");
    return success();
  };
  if (failed(verify(from.offsets, e.mul(positions, e.size(windows.size())))))
    return failure();
  if (!node.has(4))
    return from;
  from.mask = node.in(4);
  if (failed(verify(from.mask, positions)))
    return failure();
  return from;
}

/// (X, W, offset, B, mask)
static LogicalResult deformConvRule(NodeLowering &node) {
  Emitter &e = node.e;
  TensorValue image = node.in(0), weight = node.in(1);
  auto convolution = readConvolution(node, image, weight);
  if (failed(convolution))
    return failure();
  const SlidingWindows &windows = convolution->windows;
  auto from = readDeformation(node, image, windows);
  if (failed(from))
    return failure();
  Sizes counts = collect(windows, &SlidingAxis::count);
  checkCells(node, image, counts);
  TensorValue cells = gatherFilterCells(node, *from, windows);
  int64_t groups = convolution->groups;
  Sizes cut = e.sizes(cells), cutWeight = e.sizes(weight);
  cut[1] = cutWeight[1];
  cut.insert(cut.begin() + 1, e.size(groups));
  Size filters = cutWeight[0];
  cutWeight[0] = e.floorDiv(filters, e.size(groups));
  cutWeight.insert(cutWeight.begin(), e.size(groups));
  Sizes result = {cut[0], e.size(groups), cutWeight[1]};
  Sizes merged = {cut[0], filters};
  llvm::append_range(result, counts);
  llvm::append_range(merged, counts);
  Type element = node.outElement();
  TensorValue sums =
      contract(e, e.reshape(cells, cut), e.reshape(weight, cutWeight), result,
               element, getFilterMaps(e.b.getContext(), windows.size()));
  sums = e.reshape(sums, merged);
  if (node.has(3)) {
    TensorValue bias = node.in(3);
    if (bias.getRank() != 1)
      return node.fail("its bias is not a vector");
    Sizes along = {e.dim(bias, 0)};
    along.append(windows.size(), e.size(1));
    sums = e.map(element, {sums, e.reshape(bias, along)},
                 [&](ValueRange v) { return node.s.add(v[0], v[1]); });
  }
  node.set(sums);
  return success();
}

ArrayRef<LoweringRule> getSamplingLowerings() {
  static const LoweringRule rules[] = {
      {"AffineGrid", affineGridRule},
      {"DeformConv", deformConvRule},
      {"GridSample", gridSampleRule},
      {"RoiAlign", roiAlignRule},
  };
  return rules;
}

} // namespace mp
