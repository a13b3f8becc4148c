//===- Depthwise.cpp - Loops of convolutions of single channels -----------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An image is prepared once for all filter positions: some of its rows are
// copied to memory of the thread, as f32, with the zeros around them; for
// windows of stride two, even columns are separated from odd ones. Each filter
// position of a vector of results is then a vector there. A task is such a
// piece of one image and channel, or of several if that is little work; a
// register block is `mr` rows of `nr` results, summed up position by position
// in one order.
//
//===----------------------------------------------------------------------===//

#include "Depthwise.h"
#include "../../Contract/Contraction.h"
#include "../../Contract/Lanes.h"
#include "DepthwiseStrategy.h"
#include "StoreVector.h"

using namespace mlir;

namespace mp::kernel {

namespace {

/// The number of rows of results for which an image is prepared.
constexpr int64_t blockRows = 16;
/// The approximate number of multiply-adds of a task.
constexpr int64_t taskWork = 65536;
/// The thread's memory: the prepared image, and sums.
constexpr int imageBuffer = 0, sumBuffer = 1;

class Depthwise {
public:
  Depthwise(LoopBuilder &e, Contraction &contraction,
            const DepthwiseWindows &windows)
      : e(e), contraction(contraction), config(*contraction.op.getConfig()),
        windows(windows), image(contraction.views[windows.image]),
        weights(contraction.views[1 - windows.image]), lanes(config.getLanes()),
        phases(windows.columns.stride) {}

  void emit();

private:
  const DepthwiseAxis &columns() const { return windows.columns; }
  int64_t getPreparedRows() const {
    int64_t reach = windows.rows ? windows.rows->getReach() : 0;
    // The last register block may have rows that are not stored.
    int64_t rows = llvm::alignTo(blockRows, config.getMr());
    return (rows - 1) * windows.getRowStride() + reach + 1;
  }
  /// The size of a dimension of the image.
  Value getImageSize(unsigned position) {
    return memref::DimOp::create(
        e, contraction.op.getMappedOperands()[windows.image],
        int64_t(position));
  }
  Value getPlane(Value row, int64_t phase) {
    return e.mul(e.add(e.mul(row, phases), phase), pitch);
  }

  void findSizes();
  void findColumns();
  void fillWithZeros();
  void emitItem(Value item);
  void prepare();
  void prepareRow(Value from, Value to);
  void copyLanes(Value from, Value to, Value first, Value last);
  void copyPairs(Value from, Value to);
  void copySingles(Value from, Value to, int64_t phase, Value first,
                   Value last);
  void zeroRow(Value to);
  Value read(Value at);
  void multiply(Value row, Value column);
  void store(Value row, Value column);

  LoopBuilder &e;
  Contraction &contraction;
  ConfigAttr config;
  const DepthwiseWindows &windows;
  const View &image, &weights;
  int64_t lanes, phases;
  Value numRows, numColumns, outerTotal, rowBlocks;
  SmallVector<Value> outerSizes;
  /// The elements of a line of a phase.
  Value pitch;
  /// For each phase, the columns of a line that the image has.
  SmallVector<Value> begins, ends;
  Value prepared, sums;
  /// The current piece of the task.
  SmallVector<Value> outer;
  Value firstRow, rowsHere;
};

} // namespace

void Depthwise::findSizes() {
  numColumns = contraction.sizes[columns().pixel];
  numRows = windows.rows ? contraction.sizes[windows.rows->pixel] : e.index(1);
  rowBlocks = e.ceilDiv(numRows, blockRows);
  outerTotal = e.index(1);
  for (unsigned dim : windows.outer) {
    outerSizes.push_back(contraction.sizes[dim]);
    outerTotal = e.mul(outerTotal, outerSizes.back());
  }
}

/// Column q of phase p is the image's at `stride * q + p + begin`.
void Depthwise::findColumns() {
  Value padded = e.mul(e.ceilDiv(numColumns, config.getNr()), config.getNr());
  pitch = e.add(padded, columns().getReach() / phases + 1);
  Value size = getImageSize(columns().position);
  for (int64_t phase = 0; phase < phases; ++phase) {
    int64_t before = columns().getBegin() + phase;
    int64_t first = before < 0 ? llvm::divideCeil(-before, phases) : 0;
    Value end =
        e.ceilDiv(e.max(e.sub(size, e.index(before)), e.index(0)), phases);
    begins.push_back(e.min(e.index(first), pitch));
    ends.push_back(e.max(e.min(end, pitch), begins.back()));
  }
}

void Depthwise::fillWithZeros() {
  Value count = e.mul(pitch, getPreparedRows() * phases);
  e.loop(e.index(0), count, lanes, [&](Value at) {
    vector::StoreOp::create(e, e.zeros(e.getF32Type(), lanes), prepared,
                            ValueRange{at});
  });
}

//===----------------------------------------------------------------------===//
// The image
//===----------------------------------------------------------------------===//

Value Depthwise::read(Value at) {
  return e.castFloat(e.load(image.memory, at), image.shape.rounding,
                     e.getF32Type());
}

/// Copies elements of a phase one by one.
void Depthwise::copySingles(Value from, Value to, int64_t phase, Value first,
                            Value last) {
  Value line = e.add(to, e.mul(pitch, phase));
  e.loop(first, last, 1, [&](Value column) {
    Value value = read(e.add(from, e.add(e.mul(column, phases), phase)));
    memref::StoreOp::create(e, value, prepared,
                            ValueRange{e.add(line, column)});
  });
}

/// Copies columns from `first` to `last` - 1 of the only phase: whole vectors,
/// the last of which may overlap the one before it.
void Depthwise::copyLanes(Value from, Value to, Value first, Value last) {
  VectorType type = e.vectorType(image.shape.element, lanes);
  e.loop(first, last, lanes, [&](Value column) {
    Value at = e.min(column, e.sub(last, e.index(lanes)));
    Value value = vector::LoadOp::create(e, type, image.memory,
                                         ValueRange{e.add(from, at)});
    vector::StoreOp::create(
        e, e.castFloat(value, image.shape.rounding, e.getF32Type()), prepared,
        ValueRange{e.add(to, at)});
  });
}

/// Copies two phases, both of which exist from the later begin to the earlier
/// end.
void Depthwise::copyPairs(Value from, Value to) {
  Value first = e.max(begins[0], begins[1]);
  Value last = e.max(e.min(ends[0], ends[1]), first);
  VectorType type = e.vectorType(image.shape.element, 2 * lanes);
  Value isLong = e.less(e.index(lanes - 1), e.sub(last, first));
  e.ifElse(
      isLong,
      [&] {
        e.loop(first, last, lanes, [&](Value column) {
          Value at = e.min(column, e.sub(last, e.index(lanes)));
          Value both = vector::LoadOp::create(
              e, type, image.memory, ValueRange{e.add(from, e.mul(at, 2))});
          if (image.shape.rounding)
            both = e.castFloat(both, image.shape.rounding);
          for (auto [phase, value] : llvm::enumerate(splitLanes(e, both, 2)))
            vector::StoreOp::create(
                e, value, prepared,
                ValueRange{e.add(to, e.add(e.mul(pitch, int64_t(phase)), at))});
        });
        for (int64_t phase : {0, 1}) {
          copySingles(from, to, phase, begins[phase], first);
          copySingles(from, to, phase, last, ends[phase]);
        }
      },
      [&] {
        for (int64_t phase : {0, 1})
          copySingles(from, to, phase, begins[phase], ends[phase]);
      });
}

void Depthwise::prepareRow(Value from, Value to) {
  if (phases == 2)
    return copyPairs(from, to);
  Value isLong = e.less(e.index(lanes - 1), e.sub(ends[0], begins[0]));
  e.ifElse(
      isLong, [&] { copyLanes(from, to, begins[0], ends[0]); },
      [&] { copySingles(from, to, 0, begins[0], ends[0]); });
}

/// Fills a row with zeros, as the elements around the image's columns always
/// are.
void Depthwise::zeroRow(Value to) {
  e.loop(e.index(0), e.mul(pitch, phases), 1, [&](Value column) {
    Value zero = arith::ConstantOp::create(e, e.getF32FloatAttr(0));
    memref::StoreOp::create(e, zero, prepared, ValueRange{e.add(to, column)});
  });
}

/// Prepares all rows that the windows of the piece's results reach.
void Depthwise::prepare() {
  int64_t reach = windows.rows ? windows.rows->getReach() : 0;
  Value count = e.add(
      e.mul(e.sub(rowsHere, e.index(1)), windows.getRowStride()), reach + 1);
  Value base = image.origin;
  for (auto [dim, number] : llvm::zip(windows.outer, outer))
    base = e.add(base, e.mul(number, image.getStride(e, dim)));
  // The origin has the constants in it, that of the columns' begin is another.
  base = e.add(base, columns().getBegin() - columns().offset);
  if (!windows.rows) {
    prepareRow(base, e.index(0));
    return;
  }
  const DepthwiseAxis &rows = *windows.rows;
  Value size = getImageSize(rows.position);
  // The distance of two rows of the image.
  Value rowPitch = e.index(1);
  unsigned rank =
      contraction.shape.contract.maps[windows.image].getNumResults();
  for (unsigned position = rows.position + 1; position < rank; ++position)
    rowPitch = e.mul(rowPitch, getImageSize(position));
  Value start = e.mul(firstRow, rows.stride);
  base = e.add(base, e.mul(rowPitch, rows.getBegin() - rows.offset));
  e.loop(count, [&](Value row) {
    Value imageRow = e.add(start, row);
    Value at = e.add(imageRow, rows.getBegin());
    Value isThere =
        arith::AndIOp::create(e, e.less(e.index(-1), at), e.less(at, size));
    Value to = getPlane(row, 0);
    e.ifElse(
        isThere,
        [&] { prepareRow(e.add(base, e.mul(imageRow, rowPitch)), to); },
        [&] { zeroRow(to); });
  });
}

//===----------------------------------------------------------------------===//
// Sums
//===----------------------------------------------------------------------===//

/// Computes `mr` rows, from `row` of the piece on, and `nr` columns.
void Depthwise::multiply(Value row, Value column) {
  int64_t vectors = config.getNr() / lanes;
  VectorType type = e.vectorType(e.getF32Type(), lanes);
  SmallVector<Value> tile(config.getMr() * vectors,
                          e.zeros(e.getF32Type(), lanes));
  Value weightBase = weights.origin;
  for (auto [dim, number] : llvm::zip(windows.outer, outer))
    weightBase = e.add(weightBase, e.mul(number, weights.getStride(e, dim)));
  auto getFilterOffset = [&](const DepthwiseAxis &axis, int64_t filterIndex) {
    return axis.filter ? e.mul(weights.getStride(e, *axis.filter), filterIndex)
                       : e.index(0);
  };
  Value line = e.add(getPlane(e.mul(row, windows.getRowStride()), 0), column);
  for (int64_t filterRow = 0; filterRow < windows.getFilterRows(); ++filterRow)
    for (int64_t filterIndex = 0; filterIndex < columns().filterSize;
         ++filterIndex) {
      Value place = e.add(weightBase, getFilterOffset(columns(), filterIndex));
      if (windows.rows)
        place = e.add(place, getFilterOffset(*windows.rows, filterRow));
      Value weight =
          e.splat(e.castFloat(e.load(weights.memory, place),
                              weights.shape.rounding, e.getF32Type()),
                  lanes);
      int64_t offset = columns().getOffset(filterIndex);
      int64_t rowOffset = windows.rows ? windows.rows->getOffset(filterRow) : 0;
      for (int64_t i = 0; i < config.getMr(); ++i) {
        int64_t plane =
            (i * windows.getRowStride() + rowOffset) * phases + offset % phases;
        Value at = e.add(e.add(line, e.mul(pitch, plane)), offset / phases);
        for (int64_t j = 0; j < vectors; ++j) {
          Value read = vector::LoadOp::create(e, type, prepared,
                                              ValueRange{e.add(at, j * lanes)});
          Value &sum = tile[i * vectors + j];
          sum = vector::FMAOp::create(e, weight, read, sum);
        }
      }
    }
  for (auto [number, sum] : llvm::enumerate(tile))
    vector::StoreOp::create(e, sum, sums,
                            ValueRange{e.index(int64_t(number) * lanes)});
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

void Depthwise::store(Value row, Value column) {
  int64_t vectors = config.getNr() / lanes;
  Value rows = e.min(e.index(config.getMr()), e.sub(rowsHere, row));
  Value count = e.min(e.index(config.getNr()), e.sub(numColumns, column));
  e.loop(rows, [&](Value i) {
    e.loop(e.index(0), count, lanes, [&](Value first) {
      Value from = e.add(e.mul(i, vectors * lanes), first);
      Value own = vector::LoadOp::create(e, e.vectorType(e.getF32Type(), lanes),
                                         sums, ValueRange{from});
      SmallVector<Value> place(contraction.sizes.size());
      for (auto [dim, number] : llvm::zip(windows.outer, outer))
        place[dim] = number;
      if (windows.rows)
        place[windows.rows->pixel] = e.add(firstRow, e.add(row, i));
      place[columns().pixel] = e.add(column, first);
      auto storeLanes = [&](Value mask) {
        storeVector(e, contraction, {place, columns().pixel, lanes, mask}, own);
      };
      Value left = e.sub(count, first);
      e.ifElse(
          e.less(e.index(lanes - 1), left), [&] { storeLanes(Value()); },
          [&] { storeLanes(e.firstLanes(left, lanes)); });
    });
  });
}

//===----------------------------------------------------------------------===//
// Tasks
//===----------------------------------------------------------------------===//

void Depthwise::emitItem(Value item) {
  firstRow = e.mul(e.rem(item, rowBlocks), blockRows);
  rowsHere = e.min(e.index(blockRows), e.sub(numRows, firstRow));
  Value number = e.div(item, rowBlocks);
  outer.assign(windows.outer.size(), Value());
  for (unsigned i = outer.size(); i-- > 0;) {
    outer[i] = i == 0 ? number : e.rem(number, outerSizes[i]);
    number = e.div(number, outerSizes[i]);
  }
  prepare();
  e.loop(e.index(0), rowsHere, config.getMr(), [&](Value row) {
    e.loop(e.index(0), numColumns, config.getNr(), [&](Value column) {
      multiply(row, column);
      store(row, column);
    });
  });
}

void Depthwise::emit() {
  findSizes();
  findColumns();
  Value items = e.mul(outerTotal, rowBlocks);
  Value work = e.mul(e.mul(e.min(numRows, e.index(blockRows)), numColumns),
                     windows.getFilterRows() * columns().filterSize);
  Value chunk = e.add(e.div(e.index(taskWork), e.max(work, e.index(1))), 1);
  e.parallel(e.ceilDiv(items, chunk), [&](Value task) {
    // Vectors may be read beyond the last line.
    Value count = e.add(e.mul(pitch, getPreparedRows() * phases), 2 * lanes);
    prepared = e.scratch(imageBuffer, count, e.getF32Type());
    sums = e.scratch(sumBuffer, e.index(config.getMr() * config.getNr()),
                     e.getF32Type());
    fillWithZeros();
    Value first = e.mul(task, chunk);
    e.loop(first, e.min(e.add(first, chunk), items), 1,
           [&](Value item) { emitItem(item); });
  });
}

void emitDepthwise(LoopBuilder &e, ContractOp op) {
  Contraction contraction(e, op);
  DepthwiseWindows windows = *findDepthwiseWindows(contraction.shape);
  if (windows.sumsPixels)
    emitWindowSums(e, contraction, windows);
  else if (windows.channels)
    emitChannelsLast(e, contraction, windows);
  else
    Depthwise(e, contraction, windows).emit();
  contraction.release(e);
}

} // namespace mp::kernel
