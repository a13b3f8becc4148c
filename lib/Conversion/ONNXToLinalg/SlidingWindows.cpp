//===- SlidingWindows.cpp - Sliding windows -------------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SlidingWindows.h"

using namespace mlir;

namespace mp {

Size SlidingAxis::getSpan(Emitter &e) const {
  return e.add(e.mul(e.sub(kernel, e.size(1)), e.size(dilation)), e.size(1));
}

Size SlidingAxis::getExtent(Emitter &e) const {
  return e.add(e.mul(e.sub(count, e.size(1)), e.size(stride)), getSpan(e));
}

bool SlidingAxis::isInside(Emitter &e) const {
  if (!Emitter::isConstant(begin, 0))
    return false;
  auto have = Emitter::getConstant(image);
  auto want = Emitter::getConstant(getExtent(e));
  return have && want ? *want <= *have
                      : Emitter::isConstant(end, 0) && !roundsUp;
}

Sizes collect(const SlidingWindows &windows, Size SlidingAxis::*field) {
  return llvm::map_to_vector(
      windows, [&](const SlidingAxis &axis) { return axis.*field; });
}

std::optional<SmallVector<int64_t>>
collectConstants(const SlidingWindows &windows, Size SlidingAxis::*field) {
  return getConstantIntValues(collect(windows, field));
}

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

/// Steps and pads beyond this would make sizes overflow.
static constexpr int64_t maxWindowCells = int64_t(1) << 31;

/// Reads a list of `count` integers in [least, maxWindowCells]; all are
/// `byDefault` if it is absent.
static FailureOr<SmallVector<int64_t>> readList(NodeLowering &node,
                                                StringRef name, size_t count,
                                                int64_t least,
                                                int64_t byDefault) {
  SmallVector<int64_t> list = node.getInts(name);
  if (list.empty())
    return SmallVector<int64_t>(count, byDefault);
  if (list.size() != count) {
    (void)node.fail("'" + name + "' has " + Twine(list.size()) +
                    " numbers, expected " + Twine(count));
    return failure();
  }
  for (int64_t number : list)
    if (number < least || number > maxWindowCells) {
      (void)node.fail("'" + name + "' has the number " + Twine(number));
      return failure();
    }
  return list;
}

static FailureOr<SlidingWindows> readSteps(NodeLowering &node,
                                           ArrayRef<Size> kernel) {
  size_t rank = kernel.size();
  auto strides = readList(node, "strides", rank, 1, 1);
  if (failed(strides))
    return failure();
  auto dilations = readList(node, "dilations", rank, 1, 1);
  if (failed(dilations))
    return failure();
  auto pads = readList(node, "pads", 2 * rank, 0, 0);
  if (failed(pads))
    return failure();
  SlidingWindows windows(rank);
  for (auto [index, axis] : llvm::enumerate(windows)) {
    axis.stride = (*strides)[index];
    axis.dilation = (*dilations)[index];
    axis.kernel = kernel[index];
    axis.begin = node.e.size((*pads)[index]);
    axis.end = node.e.size((*pads)[index + rank]);
  }
  return windows;
}

/// Divides `total` between both ends.
static void setPads(Emitter &e, SlidingAxis &axis, Size total,
                    bool oddInFront) {
  Size less = e.floorDiv(total, e.size(2)), more = e.sub(total, less);
  axis.begin = oddInFront ? more : less;
  axis.end = oddInFront ? less : more;
}

/// Counts the windows that fit between the pads.
static LogicalResult countWindows(NodeLowering &node, SlidingAxis &axis,
                                  bool roundsUp) {
  Emitter &e = node.e;
  Size room = e.add(e.add(axis.begin, axis.image), axis.end);
  Size span = axis.getSpan(e);
  auto have = Emitter::getConstant(room), want = Emitter::getConstant(span);
  if (have && want && *have < *want)
    return node.fail("a window of " + Twine(*want) + " cells in an image of " +
                     Twine(*have));
  if (!have || !want)
    e.check(node.s.compare(Scalars::GE, e.index(room), e.index(span)),
            "a window of %1 cells in an image of %0", room, span);
  Size rest = e.sub(room, span), stride = e.size(axis.stride);
  axis.roundsUp = roundsUp;
  if (!roundsUp) {
    axis.count = e.add(e.floorDiv(rest, stride), e.size(1));
    return success();
  }
  // No window begins in the pad after the image.
  Size most = e.ceilDiv(e.add(axis.begin, axis.image), stride);
  axis.count = e.min(e.add(e.ceilDiv(rest, stride), e.size(1)), most);
  return success();
}

FailureOr<SlidingWindows> readSlidingWindows(NodeLowering &node,
                                             ArrayRef<Size> image,
                                             ArrayRef<Size> kernel,
                                             bool roundsUp) {
  Emitter &e = node.e;
  auto windows = readSteps(node, kernel);
  if (failed(windows))
    return failure();
  StringRef mode = node.getString("auto_pad");
  for (auto [index, axis] : llvm::enumerate(*windows)) {
    axis.image = image[index];
    if (mode == "VALID")
      axis.begin = axis.end = e.size(0);
    if (mode.starts_with("SAME")) {
      // There is one window for each stride that the image begins.
      axis.count = e.ceilDiv(axis.image, e.size(axis.stride));
      Size total = e.sub(axis.getExtent(e), axis.image);
      if (axis.stride == 1)
        total = e.sub(axis.getSpan(e), e.size(1));
      setPads(e, axis, e.max(total, e.size(0)), mode == "SAME_LOWER");
    } else if (failed(countWindows(node, axis, roundsUp))) {
      return failure();
    }
  }
  return windows;
}

FailureOr<SlidingWindows> readTransposedWindows(NodeLowering &node,
                                                ArrayRef<Size> count,
                                                ArrayRef<Size> kernel) {
  Emitter &e = node.e;
  auto windows = readSteps(node, kernel);
  if (failed(windows))
    return failure();
  auto extra = readList(node, "output_padding", kernel.size(), 0, 0);
  if (failed(extra))
    return failure();
  SmallVector<int64_t> shape = node.getInts("output_shape");
  // Some give the batch and the channels, too.
  if (shape.size() == kernel.size() + 2)
    shape.erase(shape.begin(), shape.begin() + 2);
  if (!shape.empty() && shape.size() != kernel.size()) {
    (void)node.fail("'output_shape' has " + Twine(shape.size()) +
                    " numbers, expected " + Twine(kernel.size()));
    return failure();
  }
  StringRef mode = node.getString("auto_pad");
  for (auto [index, axis] : llvm::enumerate(*windows)) {
    axis.count = count[index];
    Size full = e.add(axis.getExtent(e), e.size((*extra)[index]));
    if (!shape.empty() || mode.starts_with("SAME")) {
      axis.image = shape.empty() ? e.mul(axis.count, e.size(axis.stride))
                                 : e.size(shape[index]);
      Size total = e.max(e.sub(full, axis.image), e.size(0));
      setPads(e, axis, total, mode != "SAME_UPPER");
    } else {
      if (mode == "VALID")
        axis.begin = axis.end = e.size(0);
      axis.image = e.sub(full, e.add(axis.begin, axis.end));
    }
    if (auto known = Emitter::getConstant(axis.image); known && *known < 0) {
      (void)node.fail("size " + Twine(*known) + " of its result is negative");
      return failure();
    }
    if (!Emitter::getConstant(axis.image))
      e.check(node.s.compare(Scalars::GE, e.index(axis.image), node.s.index(0)),
              "size %0 of its result is negative", axis.image, axis.image);
  }
  return windows;
}

//===----------------------------------------------------------------------===//
// Images
//===----------------------------------------------------------------------===//

TensorValue padForWindows(Emitter &e, TensorValue image,
                          const SlidingWindows &windows, Value value) {
  Sizes from = e.sizes(image), to = from;
  Sizes offsets(from.size(), e.size(0)), steps(from.size(), e.size(1));
  bool fits = true;
  for (auto [index, axis] : llvm::enumerate(windows)) {
    if (axis.isInside(e))
      continue;
    fits = false;
    to[index + 2] = e.max(e.add(axis.begin, axis.image), axis.getExtent(e));
    offsets[index + 2] = axis.begin;
  }
  if (fits)
    return image;
  TensorValue padded = e.full(to, image.element, value);
  Value result = tensor::InsertSliceOp::create(
      e.b, e.loc, image.value, padded.value, offsets, from, steps);
  e.noteSizes(result, to);
  return {result, image.element};
}

AffineMap getWindowMap(MLIRContext *context, const SlidingWindows &windows) {
  unsigned rank = windows.size();
  SmallVector<AffineExpr> exprs = {getAffineDimExpr(0, context),
                                   getAffineDimExpr(1, context)};
  for (auto [index, axis] : llvm::enumerate(windows))
    exprs.push_back(getAffineDimExpr(2 + index, context) * axis.stride +
                    getAffineDimExpr(2 + rank + index, context) *
                        axis.dilation);
  return AffineMap::get(2 + 2 * rank, 0, exprs, context);
}

/// Up to this number of cells, those of a window are written out one by one.
constexpr int64_t maxWrittenOut = 16;

SmallVector<TensorValue> sliceCells(Emitter &e, TensorValue image,
                                    const SlidingWindows &windows) {
  auto kernel = collectConstants(windows, &SlidingAxis::kernel);
  int64_t volume = 1;
  for (int64_t extent : kernel.value_or(SmallVector<int64_t>{}))
    volume *= std::min(extent, maxWrittenOut + 1);
  if (!kernel || volume < 1 || volume > maxWrittenOut)
    return {};
  Sizes sizes = e.sizes(image);
  sizes.truncate(2);
  llvm::append_range(sizes, collect(windows, &SlidingAxis::count));
  Sizes steps(2, e.size(1));
  for (const SlidingAxis &axis : windows)
    steps.push_back(e.size(axis.stride));
  SmallVector<TensorValue> cells;
  for (int64_t cell = 0; cell < volume; ++cell) {
    Sizes offsets(sizes.size(), e.size(0));
    int64_t rest = cell;
    for (unsigned axis = windows.size(); axis-- > 0;) {
      offsets[2 + axis] =
          e.size(rest % (*kernel)[axis] * windows[axis].dilation);
      rest /= (*kernel)[axis];
    }
    cells.push_back(e.slice(image, offsets, sizes, steps));
  }
  return cells;
}

static TensorValue reduceByLoops(Emitter &e, TensorValue image,
                                 const SlidingWindows &windows, Value init,
                                 function_ref<Value(Value, Value)> combine) {
  unsigned rank = windows.size(), dims = 2 + 2 * rank;
  Sizes sizes = e.sizes(image);
  sizes.truncate(2);
  llvm::append_range(sizes, collect(windows, &SlidingAxis::count));
  Type type = init.getType();
  Value start = tensor::EmptyOp::create(e.b, e.loc, sizes, type);
  start = linalg::FillOp::create(e.b, e.loc, init, start).getResult(0);
  // An operand that only gives the sizes of the loops over a window.
  Value window = tensor::EmptyOp::create(
      e.b, e.loc, collect(windows, &SlidingAxis::kernel), e.b.getI8Type());
  SmallVector<AffineExpr> outer, inner;
  for (unsigned dim = 0; dim < dims; ++dim)
    (dim < 2 + rank ? outer : inner).push_back(e.b.getAffineDimExpr(dim));
  MLIRContext *context = e.b.getContext();
  AffineMap maps[] = {getWindowMap(context, windows),
                      AffineMap::get(dims, 0, inner, context),
                      AffineMap::get(dims, 0, outer, context)};
  SmallVector<utils::IteratorType> iterators(2 + rank,
                                             utils::IteratorType::parallel);
  iterators.append(rank, utils::IteratorType::reduction);
  auto op = linalg::GenericOp::create(
      e.b, e.loc, start.getType(), ValueRange{image.value, window}, start, maps,
      iterators, [&](OpBuilder &nested, Location, ValueRange arguments) {
        OpBuilder::InsertionGuard guard(e.b);
        e.b.setInsertionPoint(nested.getInsertionBlock(),
                              nested.getInsertionPoint());
        Value element = e.s.widen(arguments[0], image.element);
        linalg::YieldOp::create(e.b, e.loc, combine(element, arguments[2]));
      });
  e.noteSizes(op.getResult(0), sizes);
  return {op.getResult(0), type};
}

TensorValue reduceWindows(Emitter &e, TensorValue image,
                          const SlidingWindows &windows, Value init,
                          function_ref<Value(Value, Value)> combine) {
  auto cells = sliceCells(e, image, windows);
  if (cells.empty())
    return reduceByLoops(e, image, windows, init, combine);
  return e.map(init.getType(), cells, [&](ValueRange values) {
    Value result = init;
    for (Value value : values)
      result = combine(value, result);
    return result;
  });
}

} // namespace mp
