//===- Winograd.cpp - Convolutions by fewer products ----------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// F(m x m, 3 x 3) of Lavin and Gray, Fast Algorithms for Convolutional Neural
// Networks (2015): the image is cut into patches of n = m + 2 lines and columns
// that overlap by two, one for each tile of m x m results. Patches and filters
// are transformed,
//
//     V = B' d B,  U = G g G',  M[i] = U[i] V[i] for each of the n n places i,
//
// and the results are A' M A: n n products, while direct summation takes 9 m m.
// The M[i] are products of matrices (channels of the results x channels of the
// image x tiles) for the kernels' own tiles.
//
// For f32, m is 2: 16 products instead of 36, and the matrices are exact. If
// operands and results have 16 bits, m is 4: 36 products instead of 144, in f32
// (twice as many as dot products of pairs do at a time). Errors are then about
// 1e-6 of the results, far less than the rounding to 16 bits.
//
// Weights are transformed before all tasks, into panels of rows; constants of
// the model are transformed by the first call, for all later ones. A task
// transforms the patches of one panel of columns, multiplies, and transforms
// the sums back; its intermediate values stay in the caches. A vector's lanes
// are adjacent tiles, in one row of the image or in a few runs.
//
// Sums are shorter than direct ones, but errors are relative to the largest
// values of a patch rather than of a window; a value that is not finite reaches
// all four results of its tiles.
//
//===----------------------------------------------------------------------===//

#include "Winograd.h"
#include "../../Contract/Lanes.h"
#include "../../Contract/Tile.h"
#include "Transforms.h"
#include "WinogradStrategy.h"

using namespace mlir;

namespace mp::kernel {

namespace {

/// Adjacent tiles of a row: lanes, counted in results.
struct Run {
  Value begin, end;
  /// The indices of lane 0, if the run extended back to it.
  Value outer, row, column;
};

using Masks = SmallVector<SmallVector<Value>>;

class Winograd {
public:
  Winograd(LoopBuilder &e, ContractOp op)
      : e(e), contraction(e, op), shape(contraction.shape, *op.getConfig()),
        windows(*findWindows(contraction.shape, /*sumsPixels=*/false)),
        transform(op.getConfig()->getF(), winogradFilterSize),
        edge(transform.results), reach(edge + winogradFilterSize - 1),
        image(contraction.views[windows.image]),
        weight(contraction.views[1 - windows.image]) {}

  void emit();

private:
  void chooseBlocks();
  int64_t getNumPlaces() const { return reach * reach; }
  Value getTransformedSize() {
    return e.mul(e.mul(batches, getNumPlaces()), e.mul(lhsPanels, rowPitch));
  }
  Value transformWeights();
  void transformFilter(Value place, Value mask, Value transformed, Value to);
  void emitTask(Value number, Value transformed);
  /// The elements that a run reads: rows of a patch by columns of a tile's
  /// width.
  struct Patches {
    Value place;
    Masks masks;
  };
  SmallVector<Run> findRuns(Value first);
  SmallVector<Patches> findPatches(Value first);
  SmallVector<Value> readLine(ArrayRef<Patches> patches, int64_t row,
                              Value offset);
  void transformPatches(Value first, Value to, Value at);
  void storeTiles(Value first, Value firstRow, Value sums, Value at);
  void storeLine(Value sums, Value row, ArrayRef<Run> runs,
                 ArrayRef<Value> masks, int64_t dy);
  Value readExtra(const View &view, Value place, ArrayRef<Run> runs,
                  ArrayRef<Value> masks, int64_t dy);
  Value getOffset(const View &view, const Run &run);
  /// True if an operand's offsets depend on the tile.
  bool isAcross(const View &view) const {
    return contraction.shape.moves(N, view.shape);
  }
  int64_t getNumRuns() const {
    return kernel::getNumRuns(contraction.shape, windows, edge, shape.lanes);
  }

  /// The coordinate of the first filter position in the image's order.
  static int64_t getBegin(const WindowAxis &axis) {
    return axis.offset - (axis.dilation < 0 ? winogradFilterSize - 1 : 0);
  }
  unsigned getRow() const { return contraction.groups[M].dims[0].back(); }
  unsigned getChannel() const { return contraction.groups[K].dims[0].back(); }

  LoopBuilder &e;
  Contraction contraction;
  TileShape shape;
  ImageWindows windows;
  ShortConvolution transform;
  /// Results and places along an edge of a tile.
  int64_t edge, reach;
  View &image, &weight;
  std::array<Value, 2> counts, tileCounts;
  Value batches, rows, depth, tiles, lhsPanels, rhsPanels, rowPitch;
  Value columnPitch, blockRows, rowBlocks;
  /// The begin of the task's batch, one entry per operand.
  SmallVector<Value> bases;
};
} // namespace

//===----------------------------------------------------------------------===//
// Blocks
//===----------------------------------------------------------------------===//

void Winograd::chooseBlocks() {
  const Group &columns = contraction.groups[N];
  counts = {columns.sizes.end()[-2], columns.sizes.end()[-1]};
  for (unsigned axis : {0, 1})
    tileCounts[axis] = e.ceilDiv(counts[axis], edge);
  tiles = e.mul(tileCounts[0], tileCounts[1]);
  if (columns.sizes.size() == 3)
    tiles = e.mul(tiles, columns.sizes.front());
  batches = contraction.groups[Batch].total;
  rows = contraction.groups[M].total;
  depth = contraction.groups[K].sizes.front();
  lhsPanels = e.ceilDiv(rows, shape.mr);
  rhsPanels = e.ceilDiv(tiles, shape.nr());
  rowPitch = shape.lhsFormat.getSize(e, depth);
  columnPitch = shape.rhsFormat.getSize(e, depth);
  // Enough tasks for all threads.
  constexpr int64_t maxPanels = 64;
  Value others = e.max(e.mul(batches, rhsPanels), e.index(1));
  Value wanted =
      e.max(e.ceilDiv(lhsPanels, maxPanels), e.ceilDiv(e.index(8), others));
  blockRows =
      e.max(e.ceilDiv(lhsPanels, e.max(wanted, e.index(1))), e.index(1));
  rowBlocks = e.ceilDiv(lhsPanels, blockRows);
}

//===----------------------------------------------------------------------===//
// Weights
//===----------------------------------------------------------------------===//

/// Transforms all weights: [batch][place][panel][depth][row], a panel by its
/// rows' lanes.
Value Winograd::transformWeights() {
  Value transformed = e.allocate(getTransformedSize(), shape.element);
  unsigned operand = 1 - windows.image;
  e.parallel(e.mul(batches, lhsPanels), [&](Value number) {
    Value batch = e.div(number, lhsPanels), panel = e.rem(number, lhsPanels);
    Value base = contraction.getBatchOffset(e, batch, operand);
    Value panels = e.add(e.mul(e.mul(batch, getNumPlaces()), lhsPanels), panel);
    e.loop(e.index(0), depth, shape.lanes, [&](Value first) {
      Value mask = e.firstLanes(e.sub(depth, first), shape.lanes);
      e.loop(e.index(shape.mr), [&](Value lane) {
        Value row = e.add(e.mul(panel, shape.mr), lane);
        Value present = arith::AndIOp::create(
            e, mask, e.splat(e.less(row, rows), shape.lanes));
        Value place = e.add(base, e.mul(row, weight.getStride(e, getRow())));
        place = e.add(place, e.mul(first, weight.getStride(e, getChannel())));
        Value to =
            e.add(e.mul(panels, rowPitch),
                  e.add(e.mul(first, shape.mr), e.mul(lane, shape.lanes)));
        transformFilter(place, present, transformed, to);
      });
    });
  });
  return transformed;
}

/// Writes G g G' of one row for a vector of channels to `to`, with a place's
/// pitch between elements.
void Winograd::transformFilter(Value place, Value mask, Value transformed,
                               Value to) {
  Value offsets =
      e.mul(e.iota(e.getIndexType(), shape.lanes),
            e.splat(weight.getStride(e, getChannel()), shape.lanes));
  auto getFilterOffset = [&](unsigned axis, int64_t filterIndex) {
    const WindowAxis &read = windows.axes[axis];
    return e.mul(weight.getStride(e, *read.filter),
                 read.dilation < 0 ? winogradFilterSize - 1 - filterIndex
                                   : filterIndex);
  };
  auto readColumn = [&](int64_t column) {
    SmallVector<Value> read;
    for (int64_t row = 0; row < winogradFilterSize; ++row) {
      Value from = e.add(
          place, e.add(getFilterOffset(0, row), getFilterOffset(1, column)));
      read.push_back(e.castFloat(e.gather(weight.memory, from, offsets, mask),
                                 weight.shape.rounding, shape.element));
    }
    return read;
  };
  Value pitch = e.mul(lhsPanels, rowPitch);
  transformSquare(
      e, transform.filterFactors, readColumn,
      [&](int64_t row, ArrayRef<Value> columns) {
        for (auto [column, value] : llvm::enumerate(columns))
          vector::StoreOp::create(
              e, value, transformed,
              ValueRange{e.add(to, e.mul(pitch, row * reach + column))});
      });
}

//===----------------------------------------------------------------------===//
// Tiles in the image and in the results
//===----------------------------------------------------------------------===//

/// The pieces of rows that make a vector of tiles from `first` on.
SmallVector<Run> Winograd::findRuns(Value first) {
  SmallVector<Run> runs;
  Value last = e.sub(tiles, e.index(1));
  Value present = e.min(e.index(shape.lanes), e.sub(tiles, first));
  Value begin = e.index(0);
  Value end = e.sub(tileCounts[1], e.rem(first, tileCounts[1]));
  for (int64_t run = getNumRuns(); run > 0; --run) {
    Value tile = e.min(e.add(first, begin), last);
    Value line = e.div(tile, tileCounts[1]);
    Value from = e.min(begin, present), to = e.min(end, present);
    runs.push_back({e.mul(from, edge), e.mul(to, edge),
                    e.div(line, tileCounts[0]),
                    e.mul(e.rem(line, tileCounts[0]), edge),
                    e.mul(e.sub(e.rem(tile, tileCounts[1]), begin), edge)});
    begin = end;
    end = e.add(end, tileCounts[1]);
  }
  return runs;
}

/// Lanes of `run`, which are results, whose coordinate, counted from `column`,
/// is within [0, size), if `isLine`.
static Value getMask(LoopBuilder &e, const Run &run, Value column, Value size,
                     Value isLine, int64_t lanes) {
  Value begin = e.max(run.begin, e.sub(e.index(0), column));
  Value end = e.min(run.end, e.sub(size, column));
  end = arith::SelectOp::create(e, isLine, e.max(begin, end), begin);
  return e.lanesBetween(begin, end, lanes);
}

Value Winograd::getOffset(const View &view, const Run &run) {
  const auto &columns = contraction.groups[N].dims;
  Value place = e.mul(run.row, view.getStride(e, windows.axes[0].pixel));
  if (columns.size() == 3)
    place =
        e.add(place, e.mul(run.outer, view.getStride(e, columns[0].back())));
  return e.add(place, run.column);
}

/// The offsets of the tiles' patches in a channel, and masks of the elements
/// that exist.
SmallVector<Winograd::Patches> Winograd::findPatches(Value first) {
  const auto &[rowAxis, columnAxis] = windows.axes;
  Value operand = contraction.op->getOperand(windows.image);
  Value height = memref::DimOp::create(e, operand, rowAxis.position);
  Value width = memref::DimOp::create(e, operand, columnAxis.position);
  // The filter's part of the operand's first place is in its base.
  auto getShift = [&](const WindowAxis &axis) {
    return e.mul(image.getStride(e, axis.pixel),
                 axis.dilation < 0 ? 1 - winogradFilterSize : 0);
  };
  Value base = e.add(bases[windows.image],
                     e.add(getShift(rowAxis), getShift(columnAxis)));
  SmallVector<Patches> result;
  for (const Run &run : findRuns(first)) {
    Patches patches{e.add(base, getOffset(image, run)), {}};
    for (int64_t row = 0; row < reach; ++row) {
      Value line = e.add(run.row, e.index(row + getBegin(rowAxis)));
      Value isLine =
          arith::CmpIOp::create(e, arith::CmpIPredicate::ult, line, height);
      patches.masks.emplace_back();
      for (int64_t column : {int64_t(0), edge}) {
        Value from = e.add(run.column, e.index(column + getBegin(columnAxis)));
        patches.masks.back().push_back(
            getMask(e, run, from, width, isLine, edge * shape.lanes));
      }
    }
    result.push_back(patches);
  }
  return result;
}

/// Reads a row of the patches of tiles: a vector for each place.
SmallVector<Value> Winograd::readLine(ArrayRef<Patches> patches, int64_t row,
                                      Value offset) {
  int64_t lanes = edge * shape.lanes;
  VectorType type = e.vectorType(image.shape.element, lanes);
  offset = e.add(offset, e.mul(image.getStride(e, windows.axes[0].pixel), row));
  SmallVector<Value> values;
  for (int64_t half : {0, 1}) {
    Value read = e.zeros(image.shape.element, lanes);
    for (const Patches &piece : patches)
      read = vector::MaskedLoadOp::create(
          e, type, image.memory,
          ValueRange{e.add(e.add(piece.place, offset), edge * half)},
          piece.masks[row][half], read);
    if (image.shape.rounding)
      read = e.castFloat(read, image.shape.rounding, image.shape.element);
    llvm::append_range(values, splitLanes(e, read, edge));
  }
  values.resize(reach);
  return values;
}

/// Writes B' d B for the tiles from `first` on and all channels to `to`, from
/// `at` on, a line of columns for each channel.
void Winograd::transformPatches(Value first, Value to, Value at) {
  SmallVector<Patches> patches = findPatches(first);
  e.loop(depth, [&](Value channel) {
    Value offset = e.mul(channel, image.getStride(e, getChannel()));
    Value place = e.add(at, e.mul(channel, shape.nr()));
    transformSquare(
        e, transform.patchFactors,
        [&](int64_t row) { return readLine(patches, row, offset); },
        [&](int64_t column, ArrayRef<Value> rows) {
          for (auto [row, value] : llvm::enumerate(rows))
            vector::StoreOp::create(
                e, value, to,
                ValueRange{
                    e.add(place, e.mul(columnPitch, row * reach + column))});
        });
  });
}

/// Reads the elements of an extra operand for a line of the tiles' results.
Value Winograd::readExtra(const View &view, Value place, ArrayRef<Run> runs,
                          ArrayRef<Value> masks, int64_t dy) {
  int64_t lanes = edge * shape.lanes;
  if (!isAcross(view))
    return e.splat(e.load(view.memory, place), lanes);
  VectorType type = e.vectorType(view.shape.element, lanes);
  Value read = arith::ConstantOp::create(e, e.getZeroAttr(type));
  place = e.add(place, e.mul(view.getStride(e, windows.axes[0].pixel), dy));
  for (auto [run, mask] : llvm::zip_equal(runs, masks))
    read = vector::MaskedLoadOp::create(
        e, type, view.memory, ValueRange{e.add(place, getOffset(view, run))},
        mask, read);
  return read;
}

/// Applies the epilogue to A' M A of the tiles from `first` on, for the task's
/// rows, and stores the results.
void Winograd::storeTiles(Value first, Value firstRow, Value sums, Value at) {
  SmallVector<Run> runs = findRuns(first);
  Masks masks(edge);
  for (int64_t dy = 0; dy < edge; ++dy)
    for (const Run &run : runs)
      masks[dy].push_back(getMask(e, run, run.column, counts[1],
                                  e.less(e.add(run.row, dy), counts[0]),
                                  edge * shape.lanes));
  Value pitch = e.mul(blockRows, shape.size());
  Value end = e.min(e.mul(blockRows, shape.mr), e.sub(rows, firstRow));
  e.loop(end, [&](Value row) {
    Value from = e.add(at, e.mul(row, shape.nr()));
    auto readColumn = [&](int64_t column) {
      SmallVector<Value> values;
      for (int64_t line = 0; line < reach; ++line)
        values.push_back(vector::LoadOp::create(
            e, e.vectorType(shape.element, shape.lanes), sums,
            ValueRange{e.add(from, e.mul(pitch, line * reach + column))}));
      return values;
    };
    transformSquare(e, transform.sumFactors, readColumn,
                    [&](int64_t dy, ArrayRef<Value> columns) {
                      storeLine(joinLanes(e, columns), e.add(firstRow, row),
                                runs, masks[dy], dy);
                    });
  });
}

/// Stores the epilogue's results for line `dy` of tiles.
void Winograd::storeLine(Value sums, Value row, ArrayRef<Run> runs,
                         ArrayRef<Value> masks, int64_t dy) {
  ArrayRef<View> views = contraction.views;
  auto getRow = [&](unsigned operand) {
    return e.add(bases[operand],
                 e.mul(row, views[operand].getStride(e, this->getRow())));
  };
  SmallVector<Value> arguments{sums};
  for (unsigned operand = 2; operand + 1 < views.size(); ++operand)
    arguments.push_back(
        readExtra(views[operand], getRow(operand), runs, masks, dy));
  Value result =
      applyEpilogue(e, contraction.op, arguments, edge * shape.lanes);
  const View &view = views.back();
  Value place = e.add(getRow(views.size() - 1),
                      e.mul(view.getStride(e, windows.axes[0].pixel), dy));
  for (auto [run, mask] : llvm::zip_equal(runs, masks))
    vector::MaskedStoreOp::create(
        e, view.memory, ValueRange{e.add(place, getOffset(view, run))}, mask,
        result);
}

//===----------------------------------------------------------------------===//
// Tasks
//===----------------------------------------------------------------------===//

void Winograd::emitTask(Value number, Value transformed) {
  Value firstColumn = e.mul(e.rem(number, rhsPanels), shape.nr());
  Value rest = e.div(number, rhsPanels);
  Value firstPanel = e.mul(e.rem(rest, rowBlocks), blockRows);
  Value batch = e.div(rest, rowBlocks);
  bases.clear();
  for (unsigned operand = 0; operand < contraction.views.size(); ++operand)
    bases.push_back(contraction.getBatchOffset(e, batch, operand));
  Value patches =
      e.scratch(0, e.mul(columnPitch, getNumPlaces()), shape.element);
  Value pitch = e.mul(blockRows, shape.size());
  Value sums = e.scratch(2, e.mul(pitch, getNumPlaces()), shape.element);
  Value width = e.min(e.index(shape.nr()), e.sub(tiles, firstColumn));
  e.loop(e.index(0), width, shape.lanes, [&](Value begin) {
    transformPatches(e.add(firstColumn, begin), patches, begin);
  });
  auto module = contraction.op->getParentOfType<ModuleOp>();
  PanelProduct product;
  product.lhs = transformed;
  product.lhsPitch = rowPitch;
  product.rhs = patches;
  product.k = depth;
  product.sums = sums;
  product.count = e.min(blockRows, e.sub(lhsPanels, firstPanel));
  product.accumulate = arith::ConstantIntOp::create(e, 0, 1);
  product.numColumns = width;
  e.loop(e.index(getNumPlaces()), [&](Value place) {
    Value panels = e.mul(e.add(e.mul(batch, getNumPlaces()), place), lhsPanels);
    product.lhsOffset = e.mul(e.add(panels, firstPanel), rowPitch);
    product.rhsOffset = e.mul(place, columnPitch);
    product.sumOffset = e.mul(place, pitch);
    emitPanelProduct(e, module, shape, product);
  });
  e.loop(e.index(0), width, shape.lanes, [&](Value begin) {
    storeTiles(e.add(firstColumn, begin), e.mul(firstPanel, shape.mr), sums,
               begin);
  });
}

void Winograd::emit() {
  chooseBlocks();
  bool isKept = contraction.op.getConfig()->getCached() == Cached::LHS;
  Value transformed =
      isKept ? makeOnce(e, contraction.op, getTransformedSize(), shape.element,
                        [&] { return transformWeights(); })
             : transformWeights();
  Value tasks = e.mul(e.mul(batches, rowBlocks), rhsPanels);
  e.parallel(tasks, [&](Value number) { emitTask(number, transformed); });
  if (!isKept)
    memref::DeallocOp::create(e, transformed);
  contraction.release(e);
}

void emitWinograd(LoopBuilder &e, ContractOp op) { Winograd(e, op).emit(); }

} // namespace mp::kernel
