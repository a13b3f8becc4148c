//===- Winograd.cpp - Convolutions by fewer products ----------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// F(2 x 2, 3 x 3) of Lavin and Gray, Fast Algorithms for Convolutional Neural
// Networks (2015): the image is cut into patches of 4 x 4 that overlap by two,
// one for each tile of 2 x 2 results. Patches and taps are transformed,
//
//     V = B' d B,  U = G g G',  M[i] = U[i] V[i] for each of the 16 places i,
//
// and the results are A' M A: 16 products where direct summation takes 36. The
// M[i] are products of matrices (channels of the results x channels of the
// image x tiles) for the kernels' own tiles.
//
// Weights are transformed ahead of all tasks, into panels of rows; constants of
// the model by the first call, for all that follow. A task transforms the
// patches of one panel of columns, multiplies, and transforms the sums back;
// what it makes stays in the caches. A vector's lanes are tiles that follow
// each other; these lie in one row of the image, or in a few runs.
//
// Sums are shorter than direct ones, but errors are relative to the largest
// values of a patch rather than of a window; a value that is not finite reaches
// all four results of its tiles.
//
//===----------------------------------------------------------------------===//

#include "Winograd.h"
#include "Tile.h"

#include <array>

using namespace mlir;

namespace mp::kernel {

namespace {

constexpr int64_t numPlaces = 16;
/// As many pieces of rows in a vector cost more than is saved.
constexpr int64_t mostRuns = 6;

/// How an axis of the image is read: at `space + tap + constant`, with
/// `mirrored` at `space - tap + constant`.
struct Axis {
  unsigned space, tap;
  bool mirrored;
  int64_t constant;
  /// The image's dimension.
  unsigned position;

  /// Of the first tap in the image's order.
  int64_t getBegin() const { return mirrored ? constant - 2 : constant; }
};

struct Windows {
  unsigned image;
  std::array<Axis, 2> axes;
};

/// Tiles that follow each other in a row: lanes, counted in results.
struct Run {
  Value begin, end;
  /// Of lane 0, if the run went back to it.
  Value outer, row, column;
};

using Matrix = SmallVector<SmallVector<Value>>;

class Winograd {
public:
  Winograd(Emitter &e, ContractOp op, const KernelTarget &target,
           const Windows &windows)
      : e(e), contraction(e, op), shape(contraction, target), windows(windows),
        image(contraction.views[windows.image]),
        weight(contraction.views[1 - windows.image]) {}

  /// Whether this is such a convolution and worth it.
  bool isSuited();
  void emit();

private:
  void chooseBlocks();
  Value getTapsSize() {
    return e.mul(e.mul(batches, numPlaces), e.mul(rowPanels, rowPitch));
  }
  Value transformWeights();
  void transformTaps(Value place, Value mask, Value taps, Value to);
  void emitTask(Value number, Value taps);
  /// What is read of a run: by rows of a patch and pairs of its columns.
  struct Patches {
    Value place;
    Matrix masks;
  };
  SmallVector<Run> findRuns(Value first);
  SmallVector<Patches> findPatches(Value first);
  void transformPatches(Value first, Value to, Value at);
  void storeTiles(Value first, Value firstRow, Value sums, Value at);
  Value readExtra(const View &view, Value place, ArrayRef<Run> runs,
                  ArrayRef<Value> masks, int64_t dy);
  Value getPlace(const View &view, const Run &run);
  bool isAcross(const View &view) const;

  int64_t getNumRuns() const;
  unsigned getRow() const { return contraction.groups[Rows].dims[0].back(); }
  unsigned getChannel() const {
    return contraction.groups[Depth].dims[0].back();
  }
  Value stride(const View &view, unsigned dim) {
    return view.strides[dim] ? view.strides[dim] : e.index(0);
  }
  Value plus(Value a, Value b) { return arith::AddFOp::create(e, a, b); }
  Value minus(Value a, Value b) { return arith::SubFOp::create(e, a, b); }

  Emitter &e;
  Contraction contraction;
  TileShape shape;
  Windows windows;
  View &image, &weight;
  std::array<Value, 2> counts, tileCounts;
  Value batches, rows, depth, tiles, rowPanels, columnPanels, rowPitch;
  Value columnPitch, blockRows, rowBlocks;
  /// Where the batch of a task begins, in each operand.
  SmallVector<Value> bases;
};
} // namespace

//===----------------------------------------------------------------------===//
// What is computed this way
//===----------------------------------------------------------------------===//

/// The axes of `map` that are read at sums of two dimensions; nothing if there
/// are others than those of 3 x 3 taps at stride 1.
static std::optional<std::array<Axis, 2>>
findAxes(AffineMap map, AffineMap result, ArrayRef<int64_t> leastSizes) {
  SmallVector<Axis> axes;
  for (auto [position, expr] : llvm::enumerate(map.getResults())) {
    LinearForm form = *getLinearForm(expr, map.getNumDims());
    SmallVector<unsigned> dims;
    for (unsigned dim = 0; dim < map.getNumDims(); ++dim)
      if (form.factors[dim] != 0)
        dims.push_back(dim);
    if (dims.size() < 2)
      continue;
    if (dims.size() > 2)
      return std::nullopt;
    if (!result.isFunctionOfDim(dims[0]))
      std::swap(dims[0], dims[1]);
    int64_t factor = form.factors[dims[1]];
    if (!result.isFunctionOfDim(dims[0]) || result.isFunctionOfDim(dims[1]) ||
        form.factors[dims[0]] != 1 || std::abs(factor) != 1 ||
        leastSizes[dims[1]] != 3)
      return std::nullopt;
    axes.push_back({dims[0], dims[1], factor < 0, form.constant,
                    static_cast<unsigned>(position)});
  }
  if (axes.size() != 2)
    return std::nullopt;
  return std::array<Axis, 2>{axes[0], axes[1]};
}

static std::optional<Windows> findWindows(ContractOp op) {
  auto leastSizes = op->getAttrOfType<DenseI64ArrayAttr>(leastSizesName);
  SmallVector<AffineMap> maps = op.getMaps();
  if (!leastSizes)
    return std::nullopt;
  for (unsigned operand : {0, 1})
    if (auto axes = findAxes(maps[operand], maps.back(), leastSizes))
      return Windows{operand, *axes};
  return std::nullopt;
}

int64_t Winograd::getNumRuns() const {
  auto leastSizes =
      contraction.op->getAttrOfType<DenseI64ArrayAttr>(leastSizesName);
  int64_t least = leastSizes[windows.axes[1].space];
  if (least < 2)
    return mostRuns + 1;
  return (shape.lanes - 2) / ((least + 1) / 2) + 2;
}

/// Whether an operand's places depend on the tile.
bool Winograd::isAcross(const View &view) const {
  return llvm::any_of(
      contraction.groups[Columns].dims,
      [&](ArrayRef<unsigned> dims) { return bool(view.strides[dims.back()]); });
}

bool Winograd::isSuited() {
  const auto &[rowAxis, columnAxis] = windows.axes;
  const Group *groups = contraction.groups;
  auto isOne = [](ArrayRef<unsigned> dims, unsigned dim) {
    return dims.size() == 1 && dims.front() == dim;
  };
  const auto &columns = groups[Columns].dims;
  const auto &summed = groups[Depth].dims;
  if (columns.size() < 2 || columns.size() > 3 ||
      !isOne(columns.end()[-2], rowAxis.space) ||
      !isOne(columns.end()[-1], columnAxis.space))
    return false;
  if (summed.size() != 3 || !isOne(summed[1], rowAxis.tap) ||
      !isOne(summed[2], columnAxis.tap) || !groups[Rows].isSingle())
    return false;
  if (contraction.columnsOperand != windows.image ||
      shape.form != Form::Widen || !shape.element.isF32() ||
      shape.columnsInPlace)
    return false;
  // Only what lies beyond the image's two axes is taken for zeros.
  bool isChecked = llvm::all_of(image.bounds, [](const Bound &bound) {
    return llvm::count(bound.factors, 0) + 2 == int64_t(bound.factors.size());
  });
  if (!isChecked || !weight.bounds.empty())
    return false;
  // Transforms are done for each channel; what they save grows with channels.
  constexpr int64_t fewestChannels = 8;
  auto leastSizes =
      contraction.op->getAttrOfType<DenseI64ArrayAttr>(leastSizesName);
  std::optional<int64_t> rows = contraction.getShortSize(Rows);
  if (leastSizes[getChannel()] < fewestChannels ||
      (rows && *rows < fewestChannels) || getNumRuns() > mostRuns ||
      image.steps[columnAxis.space] != 1)
    return false;
  return llvm::all_of(
      ArrayRef(contraction.views).drop_front(2), [&](const View &view) {
        return !isAcross(view) || view.steps[windows.axes[1].space] == 1;
      });
}

//===----------------------------------------------------------------------===//
// Blocks
//===----------------------------------------------------------------------===//

void Winograd::chooseBlocks() {
  shape.rowFormat.byLane = true;
  const Group &columns = contraction.groups[Columns];
  counts = {columns.sizes.end()[-2], columns.sizes.end()[-1]};
  for (unsigned axis : {0, 1})
    tileCounts[axis] = e.ceilDiv(counts[axis], 2);
  tiles = e.mul(tileCounts[0], tileCounts[1]);
  if (columns.sizes.size() == 3)
    tiles = e.mul(tiles, columns.sizes.front());
  batches = contraction.groups[Batch].total;
  rows = contraction.groups[Rows].total;
  depth = contraction.groups[Depth].sizes.front();
  rowPanels = e.ceilDiv(rows, shape.rows);
  columnPanels = e.ceilDiv(tiles, shape.columns());
  rowPitch = shape.rowFormat.getSize(e, depth);
  columnPitch = shape.columnFormat.getSize(e, depth);
  // So many tasks that threads find something to do.
  constexpr int64_t mostPanels = 64;
  Value others = e.max(e.mul(batches, columnPanels), e.index(1));
  Value wanted =
      e.max(e.ceilDiv(rowPanels, mostPanels), e.ceilDiv(e.index(8), others));
  blockRows =
      e.max(e.ceilDiv(rowPanels, e.max(wanted, e.index(1))), e.index(1));
  rowBlocks = e.ceilDiv(rowPanels, blockRows);
}

//===----------------------------------------------------------------------===//
// Weights
//===----------------------------------------------------------------------===//

/// All weights: [batch][place][panel][depth][row], a panel by its rows' lanes.
Value Winograd::transformWeights() {
  Value taps = e.allocate(getTapsSize(), shape.element);
  unsigned operand = 1 - windows.image;
  e.parallel(e.mul(batches, rowPanels), [&](Value number) {
    Value batch = e.div(number, rowPanels), panel = e.rem(number, rowPanels);
    Value base = contraction.getBatchOffset(e, batch, operand);
    Value panels = e.add(e.mul(e.mul(batch, numPlaces), rowPanels), panel);
    e.loop(e.index(0), depth, shape.lanes, [&](Value first) {
      Value mask = e.firstLanes(e.sub(depth, first), shape.lanes);
      e.loop(e.index(shape.rows), [&](Value lane) {
        Value row = e.add(e.mul(panel, shape.rows), lane);
        Value present = arith::AndIOp::create(
            e, mask, e.splat(e.less(row, rows), shape.lanes));
        Value place = e.add(base, e.mul(row, stride(weight, getRow())));
        place = e.add(place, e.mul(first, stride(weight, getChannel())));
        Value to =
            e.add(e.mul(panels, rowPitch),
                  e.add(e.mul(first, shape.rows), e.mul(lane, shape.lanes)));
        transformTaps(place, present, taps, to);
      });
    });
  });
  return taps;
}

/// G g G' of one row for a vector of channels, to `to` and a place's pitch
/// apart.
void Winograd::transformTaps(Value place, Value mask, Value taps, Value to) {
  Value offsets = e.mul(e.iota(e.getIndexType(), shape.lanes),
                        e.splat(stride(weight, getChannel()), shape.lanes));
  Value half = arith::ConstantOp::create(
      e, DenseElementsAttr::get(e.vectorType(shape.element, shape.lanes),
                                e.getF32FloatAttr(0.5f)));
  auto transform = [&](ArrayRef<Value> g) -> SmallVector<Value> {
    Value outer = arith::MulFOp::create(e, plus(g[0], g[2]), half);
    Value inner = arith::MulFOp::create(e, g[1], half);
    return {g[0], plus(outer, inner), minus(outer, inner), g[2]};
  };
  auto getTap = [&](unsigned axis, int64_t tap) {
    const Axis &read = windows.axes[axis];
    return e.mul(stride(weight, read.tap), read.mirrored ? 2 - tap : tap);
  };
  Matrix halfway;
  for (int64_t column = 0; column < 3; ++column) {
    SmallVector<Value> read;
    for (int64_t row = 0; row < 3; ++row) {
      Value from = e.add(place, e.add(getTap(0, row), getTap(1, column)));
      read.push_back(e.castFloat(e.gather(weight.memory, from, offsets, mask),
                                 weight.rounding, shape.element));
    }
    halfway.push_back(transform(read));
  }
  Value pitch = e.mul(rowPanels, rowPitch);
  for (int64_t row = 0; row < 4; ++row) {
    auto done = transform({halfway[0][row], halfway[1][row], halfway[2][row]});
    for (auto [column, value] : llvm::enumerate(done))
      vector::StoreOp::create(
          e, value, taps,
          ValueRange{e.add(to, e.mul(pitch, row * 4 + column))});
  }
}

//===----------------------------------------------------------------------===//
// Tiles in the image and in the results
//===----------------------------------------------------------------------===//

/// The pieces of rows that a vector of tiles from `first` on is made of.
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
    runs.push_back(
        {e.mul(from, 2), e.mul(to, 2), e.div(line, tileCounts[0]),
         e.mul(e.rem(line, tileCounts[0]), 2),
         e.sub(e.mul(e.rem(tile, tileCounts[1]), 2), e.mul(begin, 2))});
    begin = end;
    end = e.add(end, tileCounts[1]);
  }
  return runs;
}

/// Lanes of `run`, two for each tile, whose place behind `column` is within
/// [0, size), if `isLine`.
static Value getMask(Emitter &e, const Run &run, Value column, Value size,
                     Value isLine, int64_t lanes) {
  Value begin = e.max(run.begin, e.sub(e.index(0), column));
  Value end = e.min(run.end, e.sub(size, column));
  end = arith::SelectOp::create(e, isLine, e.max(begin, end), begin);
  return arith::XOrIOp::create(e, e.firstLanes(begin, lanes),
                               e.firstLanes(end, lanes));
}

Value Winograd::getPlace(const View &view, const Run &run) {
  const auto &columns = contraction.groups[Columns].dims;
  Value place = e.mul(run.row, stride(view, windows.axes[0].space));
  if (columns.size() == 3)
    place = e.add(place, e.mul(run.outer, stride(view, columns[0].back())));
  return e.add(place, run.column);
}

/// Where the patches of tiles are in a channel, and what of them is there.
SmallVector<Winograd::Patches> Winograd::findPatches(Value first) {
  const auto &[rowAxis, columnAxis] = windows.axes;
  Value operand = contraction.op->getOperand(windows.image);
  Value height = memref::DimOp::create(e, operand, rowAxis.position);
  Value width = memref::DimOp::create(e, operand, columnAxis.position);
  // The taps' part of the operand's first place is in its base.
  auto getShift = [&](const Axis &axis) {
    return e.mul(stride(image, axis.space), axis.mirrored ? -2 : 0);
  };
  Value base = e.add(bases[windows.image],
                     e.add(getShift(rowAxis), getShift(columnAxis)));
  SmallVector<Patches> result;
  for (const Run &run : findRuns(first)) {
    Patches patches{e.add(base, getPlace(image, run)), {}};
    for (int64_t row = 0; row < 4; ++row) {
      Value line = e.add(run.row, e.index(row + rowAxis.getBegin()));
      Value isLine =
          arith::CmpIOp::create(e, arith::CmpIPredicate::ult, line, height);
      patches.masks.emplace_back();
      for (int64_t column : {0, 2}) {
        Value from = e.add(run.column, e.index(column + columnAxis.getBegin()));
        patches.masks.back().push_back(
            getMask(e, run, from, width, isLine, 2 * shape.lanes));
      }
    }
    result.push_back(patches);
  }
  return result;
}

/// B' d B for the tiles from `first` on, all channels: to `to`, from `at` on, a
/// line of columns for each channel.
void Winograd::transformPatches(Value first, Value to, Value at) {
  int64_t lanes = 2 * shape.lanes;
  SmallVector<Patches> patches = findPatches(first);
  VectorType type = e.vectorType(image.element, lanes);
  auto transform = [&](ArrayRef<Value> d) -> SmallVector<Value> {
    return {minus(d[0], d[2]), plus(d[1], d[2]), minus(d[2], d[1]),
            minus(d[1], d[3])};
  };
  e.loop(depth, [&](Value channel) {
    Value offset = e.mul(channel, stride(image, getChannel()));
    Matrix halfway;
    for (int64_t row = 0; row < 4; ++row) {
      Value line =
          e.add(offset, e.mul(stride(image, windows.axes[0].space), row));
      SmallVector<Value> values;
      for (int64_t half : {0, 1}) {
        Value read = e.zeros(image.element, lanes);
        for (const Patches &piece : patches)
          read = vector::MaskedLoadOp::create(
              e, type, image.memory,
              ValueRange{e.add(e.add(piece.place, line), 2 * half)},
              piece.masks[row][half], read);
        auto apart = vector::DeinterleaveOp::create(
            e, e.castFloat(read, image.rounding, shape.element));
        values.append({apart.getRes1(), apart.getRes2()});
      }
      halfway.push_back(transform(values));
    }
    Value place = e.add(at, e.mul(channel, shape.columns()));
    for (int64_t column = 0; column < 4; ++column) {
      auto done = transform({halfway[0][column], halfway[1][column],
                             halfway[2][column], halfway[3][column]});
      for (auto [row, value] : llvm::enumerate(done))
        vector::StoreOp::create(
            e, value, to,
            ValueRange{e.add(place, e.mul(columnPitch, row * 4 + column))});
    }
  });
}

/// The elements of an extra operand for two lines of lanes.
Value Winograd::readExtra(const View &view, Value place, ArrayRef<Run> runs,
                          ArrayRef<Value> masks, int64_t dy) {
  int64_t lanes = 2 * shape.lanes;
  if (!isAcross(view))
    return e.splat(e.load(view.memory, place), lanes);
  VectorType type = e.vectorType(view.element, lanes);
  Value read = arith::ConstantOp::create(e, e.getZeroAttr(type));
  place = e.add(place, e.mul(stride(view, windows.axes[0].space), dy));
  for (auto [run, mask] : llvm::zip_equal(runs, masks))
    read = vector::MaskedLoadOp::create(
        e, type, view.memory, ValueRange{e.add(place, getPlace(view, run))},
        mask, read);
  return read;
}

/// A' M A of the tiles from `first` on, for the task's rows: the epilogue's
/// results are stored.
void Winograd::storeTiles(Value first, Value firstRow, Value sums, Value at) {
  int64_t lanes = 2 * shape.lanes;
  SmallVector<Run> runs = findRuns(first);
  Matrix masks(2);
  for (int64_t dy : {0, 1})
    for (const Run &run : runs)
      masks[dy].push_back(getMask(e, run, run.column, counts[1],
                                  e.less(e.add(run.row, dy), counts[0]),
                                  lanes));
  auto transform = [&](ArrayRef<Value> m) -> SmallVector<Value> {
    return {plus(plus(m[0], m[1]), m[2]), minus(minus(m[1], m[2]), m[3])};
  };
  Value pitch = e.mul(blockRows, shape.size());
  Value end = e.min(e.mul(blockRows, shape.rows), e.sub(rows, firstRow));
  ArrayRef<View> views = contraction.views;
  e.loop(end, [&](Value row) {
    Value from = e.add(at, e.mul(row, shape.columns()));
    Matrix halfway;
    for (int64_t column = 0; column < 4; ++column) {
      SmallVector<Value> values;
      for (int64_t line = 0; line < 4; ++line)
        values.push_back(vector::LoadOp::create(
            e, e.vectorType(shape.element, shape.lanes), sums,
            ValueRange{e.add(from, e.mul(pitch, line * 4 + column))}));
      halfway.push_back(transform(values));
    }
    for (int64_t dy : {0, 1}) {
      auto done = transform(
          {halfway[0][dy], halfway[1][dy], halfway[2][dy], halfway[3][dy]});
      SmallVector<Value> arguments{
          vector::InterleaveOp::create(e, done[0], done[1])};
      auto getRow = [&](unsigned operand) {
        return e.add(bases[operand],
                     e.mul(e.add(firstRow, row),
                           stride(views[operand], this->getRow())));
      };
      for (unsigned operand = 2; operand + 1 < views.size(); ++operand)
        arguments.push_back(
            readExtra(views[operand], getRow(operand), runs, masks[dy], dy));
      Value result = applyEpilogue(e, contraction.op, arguments, lanes);
      const View &view = views.back();
      Value place = e.add(getRow(views.size() - 1),
                          e.mul(stride(view, windows.axes[0].space), dy));
      for (auto [run, mask] : llvm::zip_equal(runs, masks[dy]))
        vector::MaskedStoreOp::create(
            e, view.memory, ValueRange{e.add(place, getPlace(view, run))}, mask,
            result);
    }
  });
}

//===----------------------------------------------------------------------===//
// Tasks
//===----------------------------------------------------------------------===//

void Winograd::emitTask(Value number, Value taps) {
  Value firstColumn = e.mul(e.rem(number, columnPanels), shape.columns());
  Value rest = e.div(number, columnPanels);
  Value firstPanel = e.mul(e.rem(rest, rowBlocks), blockRows);
  Value batch = e.div(rest, rowBlocks);
  bases.clear();
  for (unsigned operand = 0; operand < contraction.views.size(); ++operand)
    bases.push_back(contraction.getBatchOffset(e, batch, operand));
  Value patches = e.scratch(0, e.mul(columnPitch, numPlaces), shape.element);
  Value pitch = e.mul(blockRows, shape.size());
  Value sums = e.scratch(2, e.mul(pitch, numPlaces), shape.element);
  Value width = e.min(e.index(shape.columns()), e.sub(tiles, firstColumn));
  e.loop(e.index(0), width, shape.lanes, [&](Value begin) {
    transformPatches(e.add(firstColumn, begin), patches, begin);
  });
  auto module = contraction.op->getParentOfType<ModuleOp>();
  Strip strip;
  strip.rows = taps;
  strip.rowPitch = rowPitch;
  strip.columns = patches;
  strip.depth = depth;
  strip.sums = sums;
  strip.count = e.min(blockRows, e.sub(rowPanels, firstPanel));
  strip.accumulate = arith::ConstantIntOp::create(e, 0, 1);
  strip.width = width;
  e.loop(e.index(numPlaces), [&](Value place) {
    Value panels = e.mul(e.add(e.mul(batch, numPlaces), place), rowPanels);
    strip.rowPlace = e.mul(e.add(panels, firstPanel), rowPitch);
    strip.columnPlace = e.mul(place, columnPitch);
    strip.sumPlace = e.mul(place, pitch);
    emitStrip(e, module, shape, strip);
  });
  e.loop(e.index(0), width, shape.lanes, [&](Value begin) {
    storeTiles(e.add(firstColumn, begin), e.mul(firstPanel, shape.rows), sums,
               begin);
  });
}

void Winograd::emit() {
  chooseBlocks();
  auto constant = contraction.op->getAttrOfType<IntegerAttr>(constantName);
  bool isKept = constant && constant.getInt() == contraction.rowsOperand;
  Value taps = isKept
                   ? makeOnce(e, contraction.op, getTapsSize(), shape.element,
                              [&] { return transformWeights(); })
                   : transformWeights();
  Value tasks = e.mul(e.mul(batches, rowBlocks), columnPanels);
  e.parallel(tasks, [&](Value number) { emitTask(number, taps); });
  if (!isKept)
    memref::DeallocOp::create(e, taps);
  contraction.release(e);
}

bool emitWinograd(Emitter &e, ContractOp op, const KernelTarget &target) {
  std::optional<Windows> windows = findWindows(op);
  if (!windows)
    return false;
  Winograd winograd(e, op, target, *windows);
  if (!winograd.isSuited())
    return false;
  winograd.emit();
  return true;
}

} // namespace mp::kernel
