//===- ChannelsLast.cpp - Single channels that are last in memory ---------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A vector consists of channels: images are read in place, with any strides and
// dilations. A register block is `mr` pixels of a row: for each filter row, a
// vector of the image is read once for all pixels whose filter reaches it.
// Filter rows outside of the image are left out; columns outside, and channels
// that do not fill a vector, are masked. Weights are packed before all tasks,
// position by position for each vector of channels; constants are packed by the
// first call. A task is some rows of one image.
//
//===----------------------------------------------------------------------===//

#include "ChannelWindows.h"
#include "StoreVector.h"

using namespace mlir;

namespace mp::kernel {

namespace {

/// The approximate number of multiply-adds of a task.
constexpr int64_t channelTaskWork = 1 << 17;

class ChannelsLast : ChannelWindows {
public:
  using ChannelWindows::ChannelWindows;
  void emit();

private:
  const View &weights() const { return contraction.views[1 - windows.image]; }

  Value packWeights();
  void packVector(Value packed, Value vector);
  void multiply(const Channels &channels, ArrayRef<Value> present);
  SmallVector<Value> addRow(Value filterRow, const Channels &channels,
                            ArrayRef<Value> present, ValueRange sums);
  void store(const Channels &channels);

  /// [vector of channels][filter position][lane]
  Value packed;
  Value sums;
};

} // namespace

//===----------------------------------------------------------------------===//
// Weights
//===----------------------------------------------------------------------===//

/// Packs filter positions in their order in the image.
void ChannelsLast::packVector(Value packed, Value vector) {
  Value first = e.mul(vector, lanes);
  Value stride = weights().getStride(e, channelDim());
  Value mask = e.firstLanes(e.sub(numChannels, first), lanes);
  Value base = e.add(weights().origin, e.mul(first, stride));
  Value offsets =
      e.mul(e.iota(e.getIndexType(), lanes), e.splat(stride, lanes));
  auto getFilterOffset = [&](const DepthwiseAxis &axis, int64_t place) {
    int64_t filterIndex =
        axis.dilation < 0 ? axis.filterSize - 1 - place : place;
    return axis.filter
               ? e.mul(weights().getStride(e, *axis.filter), filterIndex)
               : e.index(0);
  };
  for (int64_t filterIndex = 0; filterIndex < getFilterArea(); ++filterIndex) {
    Value from = e.add(
        base, getFilterOffset(columns(), filterIndex % columns().filterSize));
    if (windows.rows)
      from = e.add(from, getFilterOffset(*windows.rows,
                                         filterIndex / columns().filterSize));
    Value line = e.gather(weights().memory, from, offsets, mask);
    line = e.castFloat(line, weights().shape.rounding, e.getF32Type());
    Value to = e.mul(e.add(e.mul(vector, getFilterArea()), filterIndex), lanes);
    vector::StoreOp::create(e, line, packed, ValueRange{to});
  }
}

Value ChannelsLast::packWeights() {
  Value size = e.mul(vectors, getFilterArea() * lanes);
  auto make = [&]() -> Value {
    Value memory = e.allocate(size, e.getF32Type());
    e.parallel(vectors, [&](Value vector) { packVector(memory, vector); });
    return memory;
  };
  if (config.getCached() == Cached::LHS)
    return makeOnce(e, contraction.op, size, e.getF32Type(), make);
  return make();
}

//===----------------------------------------------------------------------===//
// Sums
//===----------------------------------------------------------------------===//

/// Adds the products of one filter row. `present` are conditions of the
/// columns that the block reads; it is empty if all of them exist.
SmallVector<Value> ChannelsLast::addRow(Value filterRow,
                                        const Channels &channels,
                                        ArrayRef<Value> present,
                                        ValueRange carried) {
  VectorType type = e.vectorType(e.getF32Type(), lanes);
  Value filterIndex = e.add(e.mul(channels.vector, getFilterArea()),
                            e.mul(filterRow, columns().filterSize));
  SmallVector<Value> factors;
  for (int64_t i = 0; i < columns().filterSize; ++i)
    factors.push_back(vector::LoadOp::create(
        e, type, packed, ValueRange{e.mul(e.add(filterIndex, i), lanes)}));
  Value line = e.add(getLine(filterRow), channels.first);
  SmallVector<Value> result(carried);
  for (int64_t column = 0; column <= getReach(); ++column) {
    Value pixels;
    for (int64_t i = 0; i < columns().filterSize; ++i) {
      int64_t left = column - i * std::abs(columns().dilation);
      int64_t pixel = left / columns().stride;
      if (left < 0 || left % columns().stride != 0 || pixel >= config.getMr())
        continue;
      if (!pixels)
        pixels = readImage(line, column, channels, present);
      result[pixel] =
          vector::FMAOp::create(e, factors[i], pixels, result[pixel]);
    }
  }
  return result;
}

void ChannelsLast::multiply(const Channels &channels, ArrayRef<Value> present) {
  SmallVector<Value> zeros(config.getMr(), e.zeros(e.getF32Type(), lanes));
  auto loop =
      scf::ForOp::create(e, firstFilterRow, endFilterRow, e.index(1), zeros);
  {
    OpBuilder::InsertionGuard guard(e);
    e.setInsertionPointToStart(loop.getBody());
    SmallVector<Value> next = addRow(loop.getInductionVar(), channels, present,
                                     loop.getRegionIterArgs());
    scf::YieldOp::create(e, next);
  }
  for (auto [pixel, sum] : llvm::enumerate(loop.getResults()))
    vector::StoreOp::create(e, sum, sums,
                            ValueRange{e.index(int64_t(pixel) * lanes)});
  store(channels);
}

void ChannelsLast::store(const Channels &channels) {
  Value column = indices[columns().pixel];
  Value count = e.min(e.index(config.getMr()), e.sub(numColumns, column));
  e.loop(count, [&](Value i) {
    Value own = vector::LoadOp::create(e, e.vectorType(e.getF32Type(), lanes),
                                       sums, ValueRange{e.mul(i, lanes)});
    SmallVector<Value> at(indices);
    at[columns().pixel] = e.add(column, i);
    at[channelDim()] = channels.first;
    storeVector(e, contraction, {at, channelDim(), lanes, channels.mask}, own);
  });
}

//===----------------------------------------------------------------------===//
// Tasks
//===----------------------------------------------------------------------===//

void ChannelsLast::emit() {
  packed = packWeights();
  Value work = e.mul(e.mul(numColumns, numChannels), getFilterArea());
  Value rowsPerTask =
      e.add(e.div(e.index(channelTaskWork), e.max(work, e.index(1))), 1);
  Value pieces = e.ceilDiv(numRows, rowsPerTask);
  e.parallel(e.mul(numImages, pieces), [&](Value task) {
    sums = e.scratch(0, e.index(config.getMr() * lanes), e.getF32Type());
    Value first = e.mul(e.rem(task, pieces), rowsPerTask);
    moveToImage(e.div(task, pieces));
    e.loop(first, e.min(e.add(first, rowsPerTask), numRows), 1, [&](Value row) {
      moveToRow(row);
      emitBlocks(e.index(0), vectors,
                 [&](const Channels &channels, ArrayRef<Value> present) {
                   multiply(channels, present);
                 });
    });
  });
  if (config.getCached() != Cached::LHS)
    memref::DeallocOp::create(e, packed);
}

void emitChannelsLast(LoopBuilder &e, Contraction &contraction,
                      const DepthwiseWindows &windows) {
  ChannelsLast(e, contraction, windows).emit();
}

} // namespace mp::kernel
