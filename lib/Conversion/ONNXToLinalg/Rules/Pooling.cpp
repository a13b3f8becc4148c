//===- Pooling.cpp - Pools ------------------------------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Images are padded where windows reach beyond them, with a value that does not
// change results: the lowest value, or zero.
//
//===----------------------------------------------------------------------===//

#include "../PoolGradients.h"
#include "../Rules.h"
#include "../SlidingWindows.h"

using namespace mlir;

namespace mp {

/// Reads the windows of a pool of `image` (operand 0).
static FailureOr<SlidingWindows> readPool(NodeLowering &node,
                                          TensorValue image) {
  Emitter &e = node.e;
  SmallVector<int64_t> stated = node.getInts("kernel_shape");
  if (image.getRank() < 3 || int64_t(stated.size()) != image.getRank() - 2) {
    (void)node.fail("'kernel_shape' has " + Twine(stated.size()) +
                    " numbers for an image of " + Twine(image.getRank()) +
                    " axes");
    return failure();
  }
  Sizes kernel;
  for (int64_t extent : stated) {
    if (extent < 1 || extent > (int64_t(1) << 31)) {
      (void)node.fail("a window of " + Twine(extent) + " cells");
      return failure();
    }
    kernel.push_back(e.size(extent));
  }
  Sizes space(ArrayRef<Size>(e.sizes(image)).drop_front(2));
  return readSlidingWindows(node, space, kernel, node.getFlag("ceil_mode"));
}

/// The lowest value: all others are greater or equal.
static Value getLowest(Scalars &s, TensorValue tensor) {
  Type type = getComputeType(tensor.element);
  if (isa<FloatType>(type))
    return s.constant(type, -INFINITY);
  unsigned width = type.getIntOrFloatBitWidth();
  return s.integer(type, tensor.isUnsigned() ? 0 : llvm::minIntN(width));
}

//===----------------------------------------------------------------------===//
// MaxPool
//===----------------------------------------------------------------------===//

/// The greater of both, or NaN if one is NaN. The sign of a zero does not
/// matter here, which takes fewer instructions than IEEE 754's maximum.
static Value takeGreater(Scalars &s, Value value, Value high, bool isUnsigned) {
  if (!isa<FloatType>(value.getType()))
    return s.max(high, value, isUnsigned);
  Value greater = s.select(s.compare(Scalars::GT, value, high), value, high);
  return s.select(s.compare(Scalars::NE, value, value), value, greater);
}

/// Windows of single cells along an axis of `count` cells.
static SlidingAxis getCells(Emitter &e, Size count) {
  SlidingAxis axis;
  axis.image = axis.count = count;
  axis.kernel = e.size(1);
  axis.begin = axis.end = e.size(0);
  return axis;
}

/// Like reduceWindows. The last axis gets its own pass, the second one, if that
/// takes no more steps and the intermediate result stays in the caches. The
/// first pass then reads consecutive elements.
static TensorValue reduceInPasses(Emitter &e, TensorValue padded,
                                  const SlidingWindows &windows, Value init,
                                  function_ref<Value(Value, Value)> combine) {
  constexpr int64_t maxBytes = 1 << 20;
  SlidingWindows others = windows, last = windows;
  others.back() = getCells(e, e.sizes(padded).back());
  Size bytes = e.mul(
      e.product(ArrayRef<Size>(e.sizes(padded)).take_front(2)),
      e.size(llvm::divideCeil(init.getType().getIntOrFloatBitWidth(), 8)));
  for (auto [axis, single] : llvm::zip_equal(others, last)) {
    bytes = e.mul(bytes, axis.count);
    if (&single != &last.back())
      single = getCells(e, axis.count);
  }
  // The products saturate: a model may have kernels and strides of any size.
  auto count = [](ArrayRef<SlidingAxis> axes) {
    uint64_t cells = 1;
    for (const SlidingAxis &axis : axes)
      cells = llvm::SaturatingMultiply<uint64_t>(
          cells, Emitter::getConstant(axis.kernel).value_or(0));
    return cells;
  };
  uint64_t steps = llvm::SaturatingMultiplyAdd<uint64_t>(
      count(others), windows.back().stride, count(last));
  std::optional<int64_t> known = Emitter::getConstant(bytes);
  if (!known || *known > maxBytes || steps > count(windows))
    return reduceWindows(e, padded, windows, init, combine);
  TensorValue between = reduceWindows(e, padded, others, init, combine);
  return reduceWindows(e, between, last, init, combine);
}

/// Sets both results from loads of the windows' cells; false if the windows are
/// better sliced.
static bool poolWithoutPads(NodeLowering &node, TensorValue image,
                            const SlidingWindows &windows) {
  Emitter &e = node.e;
  bool isScattered =
      node.wants(1) && isScatteredTo(node.getNode()->getResult(1));
  bool isPadded = llvm::any_of(
      windows, [&](const SlidingAxis &axis) { return !axis.isInside(e); });
  if (!e.maxima || !canGather(windows) || !(isScattered || isPadded))
    return false;
  node.set(0, takeMaxima(e, image, windows, getLowest(node.s, image)));
  if (!node.wants(1))
    return true;
  TensorValue numbers = numberMaxima(e, image, windows);
  node.set(1, locateMaxima(e, image, numbers, windows,
                           node.getFlag("storage_order")));
  if (!node.getFlag("storage_order"))
    (*e.maxima)[node.getNode()->getResult(1)] = {numbers, windows,
                                                 e.sizes(image)};
  return true;
}

static LogicalResult maxPoolRule(NodeLowering &node) {
  Emitter &e = node.e;
  Scalars &s = node.s;
  TensorValue image = node.in(0);
  auto windows = readPool(node, image);
  if (failed(windows))
    return failure();
  if (poolWithoutPads(node, image, *windows))
    return success();
  Value lowest = getLowest(s, image);
  TensorValue padded = padForWindows(e, image, *windows, lowest);
  bool isUnsigned = image.isUnsigned();
  TensorValue greatest =
      reduceInPasses(e, padded, *windows, lowest, [&](Value value, Value high) {
        return takeGreater(s, value, high, isUnsigned);
      });
  greatest.element = image.element;
  if (greatest.getType().getElementType() != getStorageType(image.element))
    greatest = e.map(image.element,
                     TensorValue{greatest.value, getComputeType(image.element)},
                     [](ValueRange values) { return values[0]; });
  node.set(0, greatest);
  if (node.wants(1)) {
    // An image that consists of pads only has no cell to return.
    Size cells = e.size(1);
    for (const SlidingAxis &axis : *windows)
      cells = e.mul(cells, axis.image);
    e.check(s.compare(Scalars::GT, e.index(cells), s.index(0)),
            "an image of %0 cells", cells, cells);
    node.set(1, findMaxIndices(e, image, padded, greatest, *windows,
                               node.getFlag("storage_order")));
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Sums and means
//===----------------------------------------------------------------------===//

/// The number of cells of window `i` that count: cells in the image and, if
/// `countsPads`, in its pads.
static Size countCells(Emitter &e, const SlidingAxis &axis, Value i,
                       bool countsPads) {
  Size start = e.mul(i, e.size(axis.stride)), low = axis.begin;
  Size high = e.add(axis.begin, axis.image);
  if (countsPads) {
    low = e.size(0);
    high = e.add(high, axis.end);
  }
  auto countUpTo = [&](Size limit) {
    Size cells = e.max(e.sub(limit, start), e.size(0));
    return e.min(e.ceilDiv(cells, e.size(axis.dilation)), axis.kernel);
  };
  return e.sub(countUpTo(high), countUpTo(low));
}

/// The number of cells by which sums over windows `indices` are divided.
static Value countCells(Emitter &e, const SlidingWindows &windows,
                        ValueRange indices, bool countsPads, Type type) {
  Size count = e.size(1);
  for (auto [index, axis] : llvm::enumerate(windows)) {
    bool inPads = countsPads && !axis.roundsUp;
    count = e.mul(count, axis.isInside(e) || inPads
                             ? axis.kernel
                             : countCells(e, axis, indices[index], countsPads));
  }
  return e.s.fromIndex(e.index(e.max(count, e.size(1))), type);
}

static SmallVector<Value> getIndices(Emitter &e, unsigned first,
                                     unsigned count) {
  SmallVector<Value> indices;
  for (unsigned axis = 0; axis < count; ++axis)
    indices.push_back(linalg::IndexOp::create(e.b, e.loc, first + axis));
  return indices;
}

static LogicalResult averagePoolRule(NodeLowering &node) {
  Emitter &e = node.e;
  Scalars &s = node.s;
  TensorValue image = node.in(0);
  auto windows = readPool(node, image);
  if (failed(windows))
    return failure();
  bool countsPads = node.getFlag("count_include_pad");
  Type type = getComputeType(image.element);
  Value zero = s.constant(type, 0);
  TensorValue padded = padForWindows(e, image, *windows, zero);
  TensorValue sums =
      reduceWindows(e, padded, *windows, zero,
                    [&](Value value, Value sum) { return s.add(sum, value); });
  node.set(e.map(node.outElement(), sums, [&](ValueRange values) {
    SmallVector<Value> indices = getIndices(e, 2, windows->size());
    return s.div(values[0], countCells(e, *windows, indices, countsPads, type));
  }));
  return success();
}

/// |x|^p
static Value raise(Scalars &s, Value x, double p) {
  x = s.abs(x);
  if (p == 1)
    return x;
  if (p == 2)
    return s.mul(x, x);
  return math::PowFOp::create(s.b, s.loc, x, s.like(x, p));
}

static Value takeRoot(Scalars &s, Value x, double p) {
  if (p == 1)
    return x;
  if (p == 2)
    return s.sqrt(x);
  return math::PowFOp::create(s.b, s.loc, x, s.like(x, 1 / p));
}

/// An integer attribute; a float in version 1.
static double readExponent(NodeLowering &node) {
  return node.getVersion() < 2 ? node.getFloat("p") : double(node.getInt("p"));
}

static LogicalResult lpPoolRule(NodeLowering &node) {
  Emitter &e = node.e;
  Scalars &s = node.s;
  TensorValue image = node.in(0);
  auto windows = readPool(node, image);
  if (failed(windows))
    return failure();
  double p = readExponent(node);
  Value zero = s.constant(getComputeType(image.element), 0);
  TensorValue padded = padForWindows(e, image, *windows, zero);
  TensorValue sums =
      reduceWindows(e, padded, *windows, zero, [&](Value value, Value sum) {
        return s.add(sum, raise(s, value, p));
      });
  node.set(e.map(node.outElement(), sums,
                 [&](ValueRange values) { return takeRoot(s, values[0], p); }));
  return success();
}

//===----------------------------------------------------------------------===//
// Pooling of whole images
//===----------------------------------------------------------------------===//

static FailureOr<SmallVector<int64_t>> getSpatialAxes(NodeLowering &node) {
  int64_t rank = node.in(0).getRank();
  if (rank < 2) {
    (void)node.fail("an image of " + Twine(rank) +
                    " axes, expected at least 2");
    return failure();
  }
  return llvm::to_vector(llvm::seq<int64_t>(2, rank));
}

static LogicalResult globalAverageRule(NodeLowering &node) {
  Emitter &e = node.e;
  Scalars &s = node.s;
  TensorValue image = node.in(0);
  auto axes = getSpatialAxes(node);
  if (failed(axes))
    return failure();
  Type type = getComputeType(image.element);
  Sizes sizes = e.sizes(image);
  Size count = e.product(ArrayRef<Size>(sizes).drop_front(2));
  Value divisor = s.fromIndex(e.index(count), type);
  node.set(e.reduce(
      image, *axes, /*keepDims=*/true, node.outElement(), s.constant(type, 0),
      [&](Value value, Value sum) { return s.add(sum, value); },
      [&](ValueRange values) { return s.div(values[0], divisor); }));
  return success();
}

static LogicalResult globalMaxRule(NodeLowering &node) {
  TensorValue image = node.in(0);
  auto axes = getSpatialAxes(node);
  if (failed(axes))
    return failure();
  Scalars &s = node.s;
  node.set(node.e.reduce(
      image, *axes, /*keepDims=*/true, node.outElement(), getLowest(s, image),
      [&](Value value, Value high) { return s.max(high, value); }));
  return success();
}

static LogicalResult globalLpRule(NodeLowering &node) {
  TensorValue image = node.in(0);
  auto axes = getSpatialAxes(node);
  if (failed(axes))
    return failure();
  Scalars &s = node.s;
  double p = readExponent(node);
  node.set(node.e.reduce(
      image, *axes, /*keepDims=*/true, node.outElement(),
      s.constant(getComputeType(image.element), 0),
      [&](Value value, Value sum) { return s.add(sum, raise(s, value, p)); },
      [&](ValueRange values) { return takeRoot(s, values[0], p); }));
  return success();
}

//===----------------------------------------------------------------------===//
// Back to images
//===----------------------------------------------------------------------===//

/// The image of a MaxUnpool whose result's size is not given.
static FailureOr<Sizes> getUnpooledSizes(NodeLowering &node,
                                         TensorValue values) {
  Emitter &e = node.e;
  SmallVector<int64_t> stated = node.getInts("kernel_shape");
  Sizes sizes = e.sizes(values), kernel;
  if (int64_t(stated.size()) != values.getRank() - 2) {
    (void)node.fail("'kernel_shape' has " + Twine(stated.size()) +
                    " numbers for an operand of " + Twine(values.getRank()) +
                    " axes");
    return failure();
  }
  for (int64_t extent : stated)
    kernel.push_back(e.size(extent));
  auto windows =
      readTransposedWindows(node, ArrayRef<Size>(sizes).drop_front(2), kernel);
  if (failed(windows))
    return failure();
  sizes.truncate(2);
  llvm::append_range(sizes, collect(*windows, &SlidingAxis::image));
  return sizes;
}

/// Scatters `values` to the positions `indices`, which have the same count.
static TensorValue scatter(Emitter &e, TensorValue values, TensorValue indices,
                           ArrayRef<Size> sizes) {
  Scalars &s = e.s;
  Size count = e.product(e.sizes(values)), all = e.product(sizes);
  TensorValue flat = e.reshape(values, count);
  TensorValue places = e.reshape(indices, count);
  TensorValue zeros = e.full(all, values.element,
                             s.constant(getComputeType(values.element), 0));
  auto body = [&](Value i, ValueRange carried) -> SmallVector<Value> {
    Value place = e.checkedIndex(s.toIndex(e.load(places, i)), all);
    return {e.store(carried[0], values.element, place, e.load(flat, i))};
  };
  Value result = e.loop(e.size(0), count, zeros.value, body)[0];
  e.noteSizes(result, all);
  return e.reshape({result, values.element}, sizes);
}

static LogicalResult maxUnpoolRule(NodeLowering &node) {
  Emitter &e = node.e;
  Scalars &s = node.s;
  TensorValue values = node.in(0), indices = node.in(1);
  auto sizes = getUnpooledSizes(node, values);
  if (failed(sizes))
    return failure();
  Size have = e.product(e.sizes(indices)), want = e.product(e.sizes(values));
  if (have != want)
    e.check(s.compare(Scalars::EQ, e.index(have), e.index(want)),
            "%0 indices, expected %1", have, want);
  Size room = e.product(*sizes);
  e.check(arith::OrIOp::create(
              e.b, e.loc, s.compare(Scalars::GT, e.index(room), s.index(0)),
              s.compare(Scalars::EQ, e.index(want), s.index(0))),
          "%0 values in an image of %1", want, room);
  TensorValue image = scatter(e, values, indices, *sizes);
  if (!node.has(2)) {
    node.set(image);
    return success();
  }
  // Indices are those of the image without the extra cells.
  std::optional<Sizes> wanted = node.ints(2);
  if (!wanted || wanted->size() != sizes->size())
    return node.fail("'output_shape' has no size for each axis");
  for (auto [inner, outer] : llvm::zip(*sizes, *wanted))
    e.check(s.compare(Scalars::GE, e.index(outer), e.index(inner)),
            "'output_shape' has the size %0, expected at least %1", outer,
            inner);
  TensorValue zeros = e.full(*wanted, values.element,
                             s.constant(getComputeType(values.element), 0));
  Sizes offsets(sizes->size(), e.size(0)), steps(sizes->size(), e.size(1));
  Value result = tensor::InsertSliceOp::create(
      e.b, e.loc, image.value, zeros.value, offsets, *sizes, steps);
  e.noteSizes(result, *wanted);
  node.set({result, values.element});
  return success();
}

/// The windows of an AveragePoolGrad of `grad`; the image's spatial sizes,
/// `space`, are those of its result.
static FailureOr<SlidingWindows>
readPoolOfResult(NodeLowering &node, TensorValue grad, Sizes &space) {
  Emitter &e = node.e;
  auto type =
      dyn_cast<RankedTensorType>(node.getNode()->getResult(0).getType());
  bool isKnown =
      type && type.getRank() == grad.getRank() && type.getRank() >= 3 &&
      !llvm::is_contained(type.getShape().drop_front(2), ShapedType::kDynamic);
  if (!isKnown) {
    (void)node.fail("the spatial sizes of its result are unknown");
    return failure();
  }
  for (int64_t extent : type.getShape().drop_front(2))
    space.push_back(e.size(extent));
  Sizes kernel;
  for (int64_t extent : node.getInts("kernel_shape"))
    kernel.push_back(e.size(extent));
  if (kernel.size() != space.size()) {
    (void)node.fail("'kernel_shape' has " + Twine(kernel.size()) +
                    " numbers, expected " + Twine(space.size()));
    return failure();
  }
  auto windows =
      readSlidingWindows(node, space, kernel, node.getFlag("ceil_mode"));
  if (failed(windows))
    return failure();
  for (auto [index, axis] : llvm::enumerate(*windows)) {
    Size have = e.dim(grad, 2 + index);
    if (have != axis.count)
      e.check(e.s.compare(Scalars::EQ, e.index(have), e.index(axis.count)),
              "%0 windows, expected %1", have, axis.count);
  }
  return windows;
}

/// The window whose cell `cell` is cell `i` of the image, or 0; the second
/// value says if there is one.
static std::pair<Value, Value> getWindowOf(Emitter &e, const SlidingAxis &axis,
                                           Value i, Value cell) {
  Size start = e.sub(e.add(i, axis.begin), e.mul(cell, e.size(axis.dilation)));
  Size stride = e.size(axis.stride);
  Size index = e.floorDiv(e.max(start, e.size(0)), stride);
  Value fits = arith::AndIOp::create(
      e.b, e.loc,
      e.s.compare(Scalars::EQ, e.index(e.mul(index, stride)), e.index(start)),
      e.s.compare(Scalars::LT, e.index(index), e.index(axis.count)));
  return {e.s.select(fits, e.index(index), e.s.index(0)), fits};
}

/// AveragePoolGrad(dY): each cell of the image sums the gradients of the means
/// of all windows that contain it.
static LogicalResult averagePoolGradRule(NodeLowering &node) {
  Emitter &e = node.e;
  Scalars &s = node.s;
  TensorValue grad = node.in(0);
  Sizes space, sizes = e.sizes(grad);
  auto windows = readPoolOfResult(node, grad, space);
  if (failed(windows))
    return failure();
  sizes.truncate(2);
  llvm::append_range(sizes, space);
  bool countsPads = node.getFlag("count_include_pad");
  Type compute = getComputeType(grad.element);
  Value zero = s.constant(compute, 0);
  node.set(e.generate(sizes, node.outElement(), [&](ValueRange i) {
    auto body = [&](ValueRange cell, ValueRange sum) -> SmallVector<Value> {
      SmallVector<Value> place;
      Value isInside = s.integer(e.b.getI1Type(), 1);
      for (unsigned axis = 0; axis < windows->size(); ++axis) {
        auto found = getWindowOf(e, (*windows)[axis], i[2 + axis], cell[axis]);
        place.push_back(found.first);
        isInside = arith::AndIOp::create(e.b, e.loc, isInside, found.second);
      }
      Value cells = countCells(e, *windows, place, countsPads, compute);
      place.insert(place.begin(), {i[0], i[1]});
      Value share = s.div(e.load(grad, place), cells);
      return {s.add(sum[0], s.select(isInside, share, zero))};
    };
    return e.loopNest(collect(*windows, &SlidingAxis::kernel), zero, body)[0];
  }));
  return success();
}

/// Col2Im(input, image_shape, block_shape): each cell of the image sums up its
/// places in the windows (N x C * cells x windows).
static LogicalResult col2ImRule(NodeLowering &node) {
  Emitter &e = node.e;
  Scalars &s = node.s;
  TensorValue columns = node.in(0);
  std::optional<Sizes> space = node.ints(1), kernel = node.ints(2);
  if (columns.getRank() != 3 || !space || !kernel ||
      space->size() != kernel->size())
    return node.fail("expected an operand of 3 axes and as many sizes of the "
                     "image as of a block");
  auto atLeast = [&](ArrayRef<Size> sizes, int64_t least) {
    for (Size extent : sizes)
      e.check(s.compare(Scalars::GE, e.index(extent), s.index(least)),
              "a size of %0, expected at least %1", extent, e.size(least));
  };
  atLeast(*space, 0);
  atLeast(*kernel, 1);
  auto windows = readSlidingWindows(node, *space, *kernel);
  if (failed(windows))
    return failure();
  Sizes sizes = e.sizes(columns);
  Size cells = e.product(*kernel), channels = e.floorDiv(sizes[1], cells);
  auto expect = [&](Size have, Size want, const Twine &what) {
    if (have != want)
      e.check(s.compare(Scalars::EQ, e.index(have), e.index(want)),
              "%0 " + what + ", expected %1", have, want);
  };
  expect(sizes[1], e.mul(channels, cells), "rows");
  expect(sizes[2], e.product(collect(*windows, &SlidingAxis::count)),
         "windows");
  Sizes result = {sizes[0], channels};
  llvm::append_range(result, *space);
  Type compute = getComputeType(columns.element);
  Value zero = s.constant(compute, 0);
  node.set(e.generate(result, node.outElement(), [&](ValueRange i) {
    auto body = [&](ValueRange cell, ValueRange sum) -> SmallVector<Value> {
      Value isInside = s.integer(e.b.getI1Type(), 1);
      Size row = i[1], column = e.size(0);
      for (unsigned axis = 0; axis < windows->size(); ++axis) {
        const SlidingAxis &window = (*windows)[axis];
        auto found = getWindowOf(e, window, i[2 + axis], cell[axis]);
        isInside = arith::AndIOp::create(e.b, e.loc, isInside, found.second);
        row = e.add(e.mul(row, window.kernel), cell[axis]);
        column = e.add(e.mul(column, window.count), found.first);
      }
      Value value = e.load(columns, {i[0], e.index(row), e.index(column)});
      return {s.add(sum[0], s.select(isInside, value, zero))};
    };
    return e.loopNest(*kernel, zero, body)[0];
  }));
  return success();
}

ArrayRef<LoweringRule> getPoolingLowerings() {
  static const LoweringRule rules[] = {
      {"AveragePool", averagePoolRule},
      {"AveragePoolGrad", averagePoolGradRule},
      {"Col2Im", col2ImRule},
      {"GlobalAveragePool", globalAverageRule},
      {"GlobalLpPool", globalLpRule},
      {"GlobalMaxPool", globalMaxRule},
      {"LpPool", lpPoolRule},
      {"MaxPool", maxPoolRule},
      {"MaxUnpool", maxUnpoolRule},
      {"com.microsoft.AveragePoolGrad", averagePoolGradRule},
  };
  return rules;
}

} // namespace mp
