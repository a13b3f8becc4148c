//===- MaxPoolIndices.cpp - Where the greatest of each window is ----------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// All cells of a small window are compared at once, from the last to the first:
// without branches, and with 32-bit cell numbers, which lets the loop be
// vectorized. Cells of pads are compared, too. They have the lowest value and
// are only found in a window in which all cells have it. The first cell of such
// a window is found, and the first one in the image is then known without a
// search.
//
//===----------------------------------------------------------------------===//

#include "SlidingWindows.h"

using namespace mlir;

namespace mp {

namespace {

/// The search in one image.
struct Search {
  Emitter &e;
  TensorValue image;
  const SlidingWindows &windows;
  bool isColumnMajor;

  /// The position in the image of cell `windowIndex` of window `i`; negative in
  /// the pad before the image.
  Value getCell(unsigned axis, Value i, Value windowIndex);
  Value isInside(unsigned axis, Value cell);
  /// True if `value` is the greatest one, or a NaN.
  Value isGreatest(Value value, Value greatest);
  /// The position of cell `cells` of image `i` in the whole tensor.
  Size getPosition(ValueRange i, ValueRange cells);
  /// The position of cell number `cell` of window `i`. If that cell is in a pad
  /// before the image, the position of the window's first cell in the image, or
  /// 0 if it has none.
  Value locate(ValueRange i, Value cell);
  TensorValue amongCells(TensorValue greatest, ArrayRef<TensorValue> cells);
  TensorValue byLoops(TensorValue greatest);
};

} // namespace

Value Search::getCell(unsigned axis, Value i, Value windowIndex) {
  const SlidingAxis &window = windows[axis];
  Size place = e.add(e.mul(i, e.size(window.stride)),
                     e.mul(windowIndex, e.size(window.dilation)));
  return e.index(e.sub(place, window.begin));
}

Value Search::isInside(unsigned axis, Value cell) {
  // Negative numbers are large as unsigned ones.
  return e.s.compare(Scalars::LT, cell, e.index(windows[axis].image), true);
}

Value Search::isGreatest(Value value, Value greatest) {
  Value isEqual = e.s.compare(Scalars::EQ, value, greatest);
  if (!Scalars::isFloat(value))
    return isEqual;
  Value isNaN = e.s.compare(Scalars::NE, value, value);
  return arith::OrIOp::create(e.b, e.loc, isEqual, isNaN);
}

Size Search::getPosition(ValueRange i, ValueRange cells) {
  unsigned rank = windows.size();
  Sizes sizes = e.sizes(image);
  Size position = e.add(e.mul(i[0], sizes[1]), i[1]);
  for (unsigned axis = 0; axis < rank; ++axis)
    position = e.mul(position, sizes[2 + axis]);
  Size inner = e.size(0);
  for (unsigned axis = 0; axis < rank; ++axis) {
    unsigned next = isColumnMajor ? rank - 1 - axis : axis;
    inner = e.add(e.mul(inner, sizes[2 + next]), cells[next]);
  }
  return e.add(position, inner);
}

Value Search::locate(ValueRange i, Value cell) {
  Scalars &s = e.s;
  SmallVector<Value> cells(windows.size());
  Value exists = s.integer(e.b.getI1Type(), 1);
  for (unsigned axis = windows.size(); axis-- > 0;) {
    const SlidingAxis &window = windows[axis];
    Value kernel = s.fromIndex(e.index(window.kernel), cell.getType());
    Value windowIndex = arith::RemUIOp::create(e.b, e.loc, cell, kernel);
    cell = arith::DivUIOp::create(e.b, e.loc, cell, kernel);
    cells[axis] = getCell(axis, i[2 + axis], s.toIndex(windowIndex));
    if (window.isInside(e))
      continue;
    // Cells before the image are skipped.
    Size dilation = e.size(window.dilation);
    Size before = e.max(e.sub(e.size(0), cells[axis]), e.size(0));
    Size skipped = e.ceilDiv(before, dilation);
    cells[axis] = e.index(e.add(cells[axis], e.mul(skipped, dilation)));
    for (Value fits :
         {isInside(axis, cells[axis]),
          s.compare(Scalars::LT, e.index(skipped), e.index(window.kernel))})
      exists = arith::AndIOp::create(e.b, e.loc, exists, fits);
  }
  return s.select(exists, e.index(getPosition(i, cells)), s.index(0));
}

TensorValue Search::amongCells(TensorValue greatest,
                               ArrayRef<TensorValue> cells) {
  Scalars &s = e.s;
  SmallVector<TensorValue> operands = {greatest};
  llvm::append_range(operands, cells);
  Type type = e.b.getI64Type();
  return e.map(type, operands, [&](ValueRange values) {
    Type narrow = e.b.getI32Type();
    Value found = s.integer(narrow, 0);
    for (unsigned cell = cells.size(); cell-- > 0;)
      found = s.select(isGreatest(values[1 + cell], values[0]),
                       s.integer(narrow, cell), found);
    SmallVector<Value> indices;
    for (unsigned axis = 0; axis < 2 + windows.size(); ++axis)
      indices.push_back(linalg::IndexOp::create(e.b, e.loc, axis));
    return s.fromIndex(locate(indices, found), type);
  });
}

TensorValue Search::byLoops(TensorValue greatest) {
  Scalars &s = e.s;
  return e.generate(e.sizes(greatest), e.b.getI64Type(), [&](ValueRange i) {
    Value wanted = e.load(greatest, i);
    auto body = [&](ValueRange windowIndices,
                    ValueRange best) -> SmallVector<Value> {
      SmallVector<Value> place = {i[0], i[1]}, cells;
      Value inside = s.integer(e.b.getI1Type(), 1);
      for (unsigned axis = 0; axis < windows.size(); ++axis) {
        Value cell = getCell(axis, i[2 + axis], windowIndices[axis]);
        Value fits = isInside(axis, cell);
        inside = arith::AndIOp::create(e.b, e.loc, inside, fits);
        cells.push_back(cell);
        place.push_back(s.select(fits, cell, s.index(0)));
      }
      Value isFound = isGreatest(e.load(image, place), wanted);
      Value isNew = s.compare(Scalars::LT, best[0], s.index(0));
      Value takes = arith::AndIOp::create(
          e.b, e.loc, inside,
          arith::AndIOp::create(e.b, e.loc, isNew, isFound));
      Value position = e.index(getPosition(i, cells));
      return {s.select(takes, position, best[0])};
    };
    Sizes kernel = collect(windows, &SlidingAxis::kernel);
    Value first = e.loopNest(kernel, s.index(-1), body)[0];
    // A window of pads only has no cell: 0 keeps later reads in bounds.
    return s.fromIndex(e.index(e.max(first, e.size(0))), e.b.getI64Type());
  });
}

TensorValue locateMaxima(Emitter &e, TensorValue image, TensorValue numbers,
                         const SlidingWindows &windows, bool isColumnMajor) {
  Search search{e, image, windows, isColumnMajor};
  Type type = e.b.getI64Type();
  return e.map(type, numbers, [&](ValueRange values) {
    Type narrow = e.b.getI32Type();
    Value found = e.s.fromIndex(e.s.toIndex(values[0]), narrow);
    found = e.s.max(found, e.s.integer(narrow, 0));
    SmallVector<Value> indices;
    for (unsigned axis = 0; axis < 2 + windows.size(); ++axis)
      indices.push_back(linalg::IndexOp::create(e.b, e.loc, axis));
    return e.s.fromIndex(search.locate(indices, found), type);
  });
}

TensorValue findMaxIndices(Emitter &e, TensorValue image, TensorValue padded,
                           TensorValue greatest, const SlidingWindows &windows,
                           bool isColumnMajor) {
  Search search{e, image, windows, isColumnMajor};
  SmallVector<TensorValue> cells = sliceCells(e, padded, windows);
  return cells.empty() ? search.byLoops(greatest)
                       : search.amongCells(greatest, cells);
}

} // namespace mp
