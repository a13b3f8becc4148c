//===- WinogradWeights.cpp - Gradients of weights by fewer products -------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// F(3 x 3, m x m): the gradient of 3 x 3 weights is a sum over tiles of m x m
// results of a convolution and the patches of n x n values, n = m + 2, that
// these are made of. As in Winograd.cpp,
//
//     V = B' d B,  U = G g G',  M[i] = sum of U[i] V[i] over tiles,
//
// for the n n places i, where g is a tile and d its patch; the gradient is
// A' M A. The M[i] are products of matrices: channels of the results x tiles,
// and tiles x channels of the image.
//
// A vector's lanes are channels. Lines of both operands are transposed from
// lines of pixels to lines of channels, some lines at a time, then transformed
// and stored in panels: padding is tested once per pixel. Some hundreds of
// tiles are processed at a time, for which the panels of all channels stay in
// the caches; sums are kept in memory in between. Each of these steps is a
// parallel loop, and the terms of a sum are added in one order.
//
//===----------------------------------------------------------------------===//

#include "../../Contract/Lanes.h"
#include "../../Contract/Tile.h"
#include "Transforms.h"
#include "Winograd.h"
#include "WinogradStrategy.h"

using namespace mlir;

namespace mp::kernel {

namespace {

constexpr int64_t winogradFilterArea = winogradFilterSize * winogradFilterSize;

class WinogradWeights {
public:
  WinogradWeights(LoopBuilder &e, ContractOp op)
      : e(e), contraction(e, op), shape(contraction.shape, *op.getConfig()),
        windows(*findWindows(contraction.shape, /*sumsPixels=*/true)),
        transform(winogradFilterSize, op.getConfig()->getF()),
        edge(op.getConfig()->getF()), reach(edge + winogradFilterSize - 1) {}

  void emit();

private:
  /// One of the operands, in tiles.
  struct Side {
    unsigned operand, channel;
    /// Lines and columns of a tile.
    int64_t size;
    Value height, width, numChannels;
    /// The first line and column of the first tile.
    std::array<int64_t, 2> begin;
    const Factors *factors;
    /// The pixels of a transposed line, which consists of squares.
    Value linePitch;
  };
  /// Tiles that are transformed and multiplied at a time: whole rows of them.
  struct TileBlock {
    Value firstLine, numLines;
  };
  using Store = llvm::function_ref<void(Value place, Value tile, Value vector)>;

  void chooseBlocks();
  Side getTiles();
  Side getPatches();
  Value getLinePitch(const Side &side);
  void transpose(const Side &side, Value channel, Value line, Value to);
  Value getPixelMask(const Side &side, Value column, Value isLine,
                     int64_t lanes);
  void transformLine(const Side &side, Value from, Value firstTile,
                     Store store);
  void transformSide(const Side &side, const TileBlock &block, Value channel,
                     Store store);
  void packRows(const TileBlock &block, Value vector);
  void packColumns(const TileBlock &block, Value vector);
  void multiplyPanels(const TileBlock &block, Value place, Value panel);
  Value getFilterOffsets(int64_t channel, int64_t filterIndex);
  void finish(TileStore &output, Value rowPanel, Value columnPanel,
              Value memory);

  int64_t getNumPlaces() const { return reach * reach; }
  unsigned getSpace(unsigned axis) const { return windows.axes[axis].pixel; }
  /// Pixels that a transposed square has in a line.
  int64_t getPixels(const View &view) const {
    return view.shape.element.getIntOrFloatBitWidth() == 16 ? 2 * shape.lanes
                                                            : shape.lanes;
  }

  LoopBuilder &e;
  Contraction contraction;
  TileShape shape;
  ImageWindows windows;
  ShortConvolution transform;
  int64_t edge, reach;
  std::array<Value, 2> counts, tileCounts;
  Value lines, blockLines, blocks, depth;
  Value rows, columns, rowVectors, columnVectors, lhsPanels, rhsPanels;
  /// The sizes of a panel of rows and of a panel of columns.
  Value rowPitch, columnPitch;
  /// Memory that all tasks share: panels [place][panel][tile][lane] of both
  /// operands, sums [place][panel of columns][panel of rows].
  Value memory, columnsOffset, sumsOffset;
};
} // namespace

//===----------------------------------------------------------------------===//
// Blocks
//===----------------------------------------------------------------------===//

void WinogradWeights::chooseBlocks() {
  const Group &summed = contraction.groups[K];
  counts = {summed.sizes[1], summed.sizes[2]};
  for (unsigned axis : {0, 1})
    tileCounts[axis] = e.ceilDiv(counts[axis], edge);
  lines = e.mul(summed.sizes[0], tileCounts[0]);
  // Panels of a place must stay in the first cache.
  constexpr int64_t fewestTiles = 128;
  Value wanted = e.div(e.index(fewestTiles), e.max(tileCounts[1], e.index(1)));
  blocks = e.max(e.ceilDiv(lines, e.max(wanted, e.index(1))), e.index(1));
  blockLines = e.ceilDiv(lines, blocks);
  depth = e.mul(blockLines, tileCounts[1]);
  rows = contraction.groups[M].total;
  columns = contraction.groups[N].sizes.front();
  rowVectors = e.ceilDiv(rows, shape.lanes);
  columnVectors = e.ceilDiv(columns, shape.lanes);
  lhsPanels = e.ceilDiv(e.mul(rowVectors, shape.lanes), shape.mr);
  rhsPanels = e.ceilDiv(columns, shape.nr());
  rowPitch = e.mul(depth, shape.mr);
  columnPitch = e.mul(depth, shape.nr());
  columnsOffset = e.mul(e.mul(lhsPanels, rowPitch), getNumPlaces());
  sumsOffset = e.add(columnsOffset,
                     e.mul(e.mul(rhsPanels, columnPitch), getNumPlaces()));
}

WinogradWeights::Side WinogradWeights::getTiles() {
  Side side{1 - windows.image,
            contraction.groups[M].dims.front().back(),
            edge,
            counts[0],
            counts[1],
            rows,
            {0, 0},
            &transform.filterFactors,
            {}};
  side.linePitch = getLinePitch(side);
  return side;
}

WinogradWeights::Side WinogradWeights::getPatches() {
  Value operand = contraction.op->getOperand(windows.image);
  auto getSize = [&](unsigned axis) -> Value {
    return memref::DimOp::create(e, operand, windows.axes[axis].position);
  };
  Side side{windows.image,
            contraction.groups[N].dims.front().back(),
            reach,
            getSize(0),
            getSize(1),
            columns,
            {windows.axes[0].offset, windows.axes[1].offset},
            &transform.patchFactors,
            {}};
  side.linePitch = getLinePitch(side);
  return side;
}

Value WinogradWeights::getLinePitch(const Side &side) {
  int64_t pixels = getPixels(contraction.views[side.operand]);
  Value length = e.add(e.mul(tileCounts[1], edge), side.size - edge);
  return e.mul(e.ceilDiv(length, pixels), pixels);
}

//===----------------------------------------------------------------------===//
// From lines of pixels to lines of channels
//===----------------------------------------------------------------------===//

/// The mask of the pixels from `column` on that are in the image, if `isLine`.
Value WinogradWeights::getPixelMask(const Side &side, Value column,
                                    Value isLine, int64_t lanes) {
  Value begin = e.max(e.index(0), e.sub(e.index(0), column));
  Value end = e.max(begin, e.sub(side.width, column));
  end = arith::SelectOp::create(e, isLine, end, begin);
  return e.lanesBetween(begin, end, lanes);
}

/// Writes the lines of the tiles in line `line` to `to`: [line][pixel][lane],
/// the lanes being channels from `channel` on; zeros where there is nothing.
void WinogradWeights::transpose(const Side &side, Value channel, Value line,
                                Value to) {
  const View &view = contraction.views[side.operand];
  int64_t pixels = getPixels(view);
  bool isNarrow = pixels != shape.lanes;
  Value first = e.mul(e.rem(line, tileCounts[0]), edge);
  unsigned outer = contraction.groups[K].dims.front().back();
  Value base = e.add(
      view.origin, e.mul(e.div(line, tileCounts[0]), view.getStride(e, outer)));
  base = e.add(base, e.mul(channel, view.getStride(e, side.channel)));
  VectorType type = e.vectorType(view.shape.element, pixels);
  VectorType words = e.vectorType(e.getI32Type(), shape.lanes);
  e.loop(e.index(side.size), [&](Value y) {
    Value row = e.add(first, y);
    Value isLine = arith::CmpIOp::create(
        e, arith::CmpIPredicate::ult, e.add(row, side.begin[0]), side.height);
    Value place = e.add(base, e.mul(row, view.getStride(e, getSpace(0))));
    e.loop(e.index(0), side.linePitch, pixels, [&](Value x) {
      Value mask = getPixelMask(side, e.add(x, side.begin[1]), isLine, pixels);
      SmallVector<Value> vectors;
      for (int64_t lane = 0; lane < shape.lanes; ++lane) {
        Value present =
            e.splat(e.less(e.add(channel, lane), side.numChannels), pixels);
        Value from = e.add(e.add(place, x),
                           e.mul(view.getStride(e, side.channel), lane));
        Value read = vector::MaskedLoadOp::create(
            e, type, view.memory, ValueRange{from},
            arith::AndIOp::create(e, mask, present),
            e.zeros(view.shape.element, pixels));
        vectors.push_back(
            isNarrow ? vector::BitCastOp::create(e, words, read).getResult()
                     : e.castFloat(read, view.shape.rounding, shape.element));
      }
      Value at = e.mul(e.add(e.mul(y, side.linePitch), x), shape.lanes);
      for (Value vector : mp::kernel::transpose(e, vectors)) {
        SmallVector<Value> parts{vector};
        if (isNarrow)
          parts = splitLanes(e, vector::BitCastOp::create(e, type, vector), 2);
        for (Value part : parts) {
          vector::StoreOp::create(e, part, to, ValueRange{at});
          at = e.add(at, shape.lanes);
        }
      }
    });
  });
}

/// Transforms the tiles of a line, which `transpose` has written to `from`.
void WinogradWeights::transformLine(const Side &side, Value from,
                                    Value firstTile, Store store) {
  Value pitch = e.mul(side.linePitch, shape.lanes);
  e.loop(tileCounts[1], [&](Value tile) {
    Value at = e.mul(tile, edge * shape.lanes);
    auto readLine = [&](int64_t y) {
      SmallVector<Value> line;
      for (int64_t x = 0; x < side.size; ++x)
        line.push_back(vector::LoadOp::create(
            e, e.vectorType(shape.element, shape.lanes), from,
            ValueRange{e.add(e.add(at, e.mul(pitch, y)), x * shape.lanes)}));
      return line;
    };
    transformSquare(
        e, *side.factors, readLine, [&](int64_t x, ArrayRef<Value> column) {
          for (auto [y, value] : llvm::enumerate(column))
            store(e.index(y * reach + x), e.add(firstTile, tile), value);
        });
  });
}

/// Transforms all tiles of a block, for the channels of a vector from `channel`
/// on.
void WinogradWeights::transformSide(const Side &side, const TileBlock &block,
                                    Value channel, Store store) {
  Value pixelsOfLine = e.scratch(
      0, e.mul(side.linePitch, side.size * shape.lanes), shape.element);
  e.loop(block.numLines, [&](Value line) {
    transpose(side, channel, e.add(block.firstLine, line), pixelsOfLine);
    transformLine(side, pixelsOfLine, e.mul(line, tileCounts[1]), store);
  });
}

//===----------------------------------------------------------------------===//
// The steps
//===----------------------------------------------------------------------===//

void WinogradWeights::packRows(const TileBlock &block, Value number) {
  Value channel = e.mul(number, shape.lanes);
  int64_t width = std::min(shape.mr, shape.lanes);
  transformSide(
      getTiles(), block, channel, [&](Value place, Value tile, Value vector) {
        Value panels = e.mul(place, lhsPanels);
        for (int64_t lane = 0; lane < shape.lanes; lane += width) {
          Value row = e.add(channel, lane);
          Value panel = e.add(panels, e.div(row, e.index(shape.mr)));
          Value at = e.add(e.mul(panel, rowPitch), e.mul(tile, shape.mr));
          at = e.add(at, e.rem(row, e.index(shape.mr)));
          Value part = vector;
          if (width < shape.lanes)
            part = vector::ShuffleOp::create(
                e, vector, vector,
                llvm::to_vector(llvm::seq(lane, lane + width)));
          vector::StoreOp::create(e, part, memory, ValueRange{at});
        }
      });
}

void WinogradWeights::packColumns(const TileBlock &block, Value number) {
  Value channel = e.mul(number, shape.lanes);
  Value panel = e.div(channel, e.index(shape.nr()));
  Value lane = e.rem(channel, e.index(shape.nr()));
  Value begin = e.add(columnsOffset, lane);
  transformSide(
      getPatches(), block, channel, [&](Value place, Value tile, Value vector) {
        Value number = e.add(e.mul(place, rhsPanels), panel);
        Value at = e.add(e.mul(number, columnPitch), e.mul(tile, shape.nr()));
        vector::StoreOp::create(e, vector, memory,
                                ValueRange{e.add(begin, at)});
      });
}

/// Adds the products of a place and a panel of columns to its sums.
void WinogradWeights::multiplyPanels(const TileBlock &block, Value place,
                                     Value panel) {
  Value number = e.add(e.mul(place, rhsPanels), panel);
  PanelProduct product;
  product.lhs = product.rhs = product.sums = memory;
  product.lhsPitch = rowPitch;
  product.lhsOffset = e.mul(e.mul(place, lhsPanels), rowPitch);
  product.rhsOffset = e.add(columnsOffset, e.mul(number, columnPitch));
  product.sumOffset =
      e.add(sumsOffset, e.mul(e.mul(number, lhsPanels), shape.size()));
  product.k = e.mul(block.numLines, tileCounts[1]);
  product.count = lhsPanels;
  product.accumulate = e.less(e.index(0), block.firstLine);
  product.numColumns =
      e.min(e.index(shape.nr()), e.sub(columns, e.mul(panel, shape.nr())));
  emitPanelProduct(e, contraction.op->getParentOfType<ModuleOp>(), shape,
                   product);
}

/// The offsets of a filter position in tiles of the output, for the channels
/// from `channel` on: the tiles' columns are [channel][line][column of the
/// filter].
Value WinogradWeights::getFilterOffsets(int64_t channel, int64_t filterIndex) {
  SmallVector<Attribute> offsets;
  for (int64_t lane = 0; lane < shape.lanes; ++lane) {
    int64_t flat = (channel + lane) * winogradFilterArea + filterIndex;
    offsets.push_back(
        e.getIndexAttr(flat / shape.nr() * shape.size() + flat % shape.nr()));
  }
  return arith::ConstantOp::create(
      e, DenseElementsAttr::get(e.vectorType(e.getIndexType(), shape.lanes),
                                offsets));
}

/// Writes A' M A for a panel of rows and one of columns, a tile of the gradient
/// for each filter position, to `memory` and then to the output.
void WinogradWeights::finish(TileStore &output, Value rowPanel,
                             Value columnPanel, Value tiles) {
  VectorType type = e.vectorType(shape.element, shape.lanes);
  Value pitch = e.mul(e.mul(rhsPanels, lhsPanels), shape.size());
  Value first =
      e.mul(e.add(e.mul(columnPanel, lhsPanels), rowPanel), shape.size());
  Value all = arith::ConstantOp::create(
      e,
      DenseElementsAttr::get(e.vectorType(e.getI1Type(), shape.lanes), true));
  e.loop(e.index(shape.mr), [&](Value row) {
    for (int64_t begin = 0; begin < shape.nr(); begin += shape.lanes) {
      Value at =
          e.add(e.add(sumsOffset, first), e.add(e.mul(row, shape.nr()), begin));
      auto readLine = [&](int64_t y) {
        SmallVector<Value> line;
        for (int64_t x = 0; x < reach; ++x)
          line.push_back(vector::LoadOp::create(
              e, type, memory,
              ValueRange{e.add(at, e.mul(pitch, y * reach + x))}));
        return line;
      };
      auto storeColumn = [&](int64_t x, ArrayRef<Value> column) {
        for (auto [y, value] : llvm::enumerate(column))
          vector::ScatterOp::create(
              e, Type(), tiles, ValueRange{e.mul(row, shape.nr())},
              getFilterOffsets(begin, y * winogradFilterSize + x), all, value);
      };
      transformSquare(e, transform.sumFactors, readLine, storeColumn);
    }
  });
  Value firstColumn = e.mul(columnPanel, shape.nr() * winogradFilterArea);
  for (int64_t tile = 0; tile < winogradFilterArea; ++tile)
    output.store(e, e.mul(rowPanel, shape.mr),
                 e.add(firstColumn, tile * shape.nr()), tiles,
                 e.index(tile * shape.size()));
}

void WinogradWeights::emit() {
  chooseBlocks();
  TileStore output(e, contraction, shape);
  Value sumsSize =
      e.mul(e.mul(e.mul(rhsPanels, lhsPanels), shape.size()), getNumPlaces());
  memory = e.allocate(e.add(sumsOffset, sumsSize), shape.element);
  e.loop(blocks, [&](Value number) {
    TileBlock block;
    block.firstLine = e.mul(number, blockLines);
    block.numLines =
        e.max(e.min(blockLines, e.sub(lines, block.firstLine)), e.index(0));
    e.parallel(rowVectors, [&](Value vector) { packRows(block, vector); });
    e.parallel(columnVectors,
               [&](Value vector) { packColumns(block, vector); });
    e.parallel(e.mul(rhsPanels, getNumPlaces()), [&](Value task) {
      multiplyPanels(block, e.div(task, rhsPanels), e.rem(task, rhsPanels));
    });
  });
  e.parallel(e.mul(lhsPanels, rhsPanels), [&](Value task) {
    Value tiles =
        e.scratch(1, e.index(winogradFilterArea * shape.size()), shape.element);
    output.enterBatch(e, e.index(0));
    finish(output, e.rem(task, lhsPanels), e.div(task, lhsPanels), tiles);
  });
  memref::DeallocOp::create(e, memory);
  contraction.release(e);
}

void emitWinogradWeights(LoopBuilder &e, ContractOp op) {
  WinogradWeights(e, op).emit();
}

} // namespace mp::kernel
