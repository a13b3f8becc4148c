//===- ChannelsLast.cpp - Single channels that are last in memory ---------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A vector is of channels, so that images are read where they are, whatever
// strides and dilations are. A register block is `mr` pixels of a row: of each
// row of taps, a vector of the image is read once for all pixels that it is a
// tap of. Rows of taps outside of the image are left out; columns outside, and
// channels that do not fill a vector, are masked. Weights are packed ahead of
// all tasks, tap by tap for each vector of channels, constants by the first
// call. A task is some rows of one image.
//
//===----------------------------------------------------------------------===//

#include "Depthwise.h"
#include "StoreVector.h"

using namespace mlir;

namespace mp::kernel {

namespace {

/// Multiply-adds of a task, about.
constexpr int64_t taskWork = 1 << 17;

class ChannelsLast {
public:
  ChannelsLast(LoopBuilder &e, Contraction &contraction,
               const SlidingWindows &windows)
      : e(e), contraction(contraction), config(*contraction.op.getConfig()),
        windows(windows), image(contraction.views[windows.image]),
        weights(contraction.views[1 - windows.image]),
        lanes(config.getLanes()) {}

  void emit();

private:
  const SlidingAxis &columns() const { return windows.columns; }
  unsigned channelDim() const { return *windows.channels; }
  int64_t numTaps() const { return columns().taps * windows.getRowTaps(); }
  /// From the first column that a block reads to the last.
  int64_t getReach() const {
    return (config.getMr() - 1) * columns().stride + columns().getReach();
  }
  Value getImageSize(unsigned position) {
    return memref::DimOp::create(
        e, contraction.op.getMappedOperands()[windows.image],
        int64_t(position));
  }
  /// Channels from `first` on, of a block.
  struct Channels {
    Value vector, first;
    /// Null if all lanes are there.
    Value mask;
  };

  Value packWeights();
  void packVector(Value packed, Value vector);
  void emitRow(Value row);
  void emitBlock(Value column);
  void findRowTaps(Value row);
  void multiply(const Channels &channels, ArrayRef<Value> present);
  SmallVector<Value> addRow(Value rowTap, const Channels &channels,
                            ArrayRef<Value> present, ValueRange sums);
  void store(const Channels &channels);

  LoopBuilder &e;
  Contraction &contraction;
  ConfigAttr config;
  const SlidingWindows &windows;
  const View &image, &weights;
  int64_t lanes;
  Value numRows, numColumns, numChannels, vectors, wholeVectors;
  /// From one index of an axis of the image to the next, in elements.
  Value rowPitch, columnPitch;
  /// [vector of channels][tap][lane]
  Value packed;
  Value sums;
  /// Of the piece that a task is at: indices of the contraction's dimensions,
  /// the rows of taps that are in the image, and the place of the first window.
  SmallVector<Value> indices;
  Value firstRowTap, endRowTap, place;
};

} // namespace

//===----------------------------------------------------------------------===//
// Weights
//===----------------------------------------------------------------------===//

/// Taps in the order in which they lie in the image.
void ChannelsLast::packVector(Value packed, Value vector) {
  Value first = e.mul(vector, lanes);
  Value stride = weights.getStride(e, channelDim());
  Value mask = e.firstLanes(e.sub(numChannels, first), lanes);
  Value base = e.add(weights.origin, e.mul(first, stride));
  Value offsets =
      e.mul(e.iota(e.getIndexType(), lanes), e.splat(stride, lanes));
  auto getTap = [&](const SlidingAxis &axis, int64_t place) {
    int64_t tap = axis.dilation < 0 ? axis.taps - 1 - place : place;
    return axis.summed ? e.mul(weights.getStride(e, *axis.summed), tap)
                       : e.index(0);
  };
  for (int64_t tap = 0; tap < numTaps(); ++tap) {
    Value from = e.add(base, getTap(columns(), tap % columns().taps));
    if (windows.rows)
      from = e.add(from, getTap(*windows.rows, tap / columns().taps));
    Value line = e.gather(weights.memory, from, offsets, mask);
    line = e.castFloat(line, weights.shape.rounding, e.getF32Type());
    Value to = e.mul(e.add(e.mul(vector, numTaps()), tap), lanes);
    vector::StoreOp::create(e, line, packed, ValueRange{to});
  }
}

Value ChannelsLast::packWeights() {
  Value size = e.mul(vectors, numTaps() * lanes);
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

/// Of one row of taps. `present` are conditions of the columns that the block
/// reads; empty if all are there.
SmallVector<Value> ChannelsLast::addRow(Value rowTap, const Channels &channels,
                                        ArrayRef<Value> present,
                                        ValueRange carried) {
  VectorType type = e.vectorType(e.getF32Type(), lanes);
  Value tap =
      e.add(e.mul(channels.vector, numTaps()), e.mul(rowTap, columns().taps));
  SmallVector<Value> factors;
  for (int64_t i = 0; i < columns().taps; ++i)
    factors.push_back(vector::LoadOp::create(
        e, type, packed, ValueRange{e.mul(e.add(tap, i), lanes)}));
  Value line = e.add(place, channels.first);
  if (windows.rows)
    line = e.add(
        line, e.mul(e.mul(rowTap, rowPitch), std::abs(windows.rows->dilation)));
  SmallVector<Value> result(carried);
  VectorType read = e.vectorType(image.shape.element, lanes);
  for (int64_t column = 0; column <= getReach(); ++column) {
    Value pixels;
    for (int64_t i = 0; i < columns().taps; ++i) {
      int64_t left = column - i * std::abs(columns().dilation);
      int64_t pixel = left / columns().stride;
      if (left < 0 || left % columns().stride != 0 || pixel >= config.getMr())
        continue;
      if (!pixels) {
        Value at = e.add(line, e.mul(columnPitch, column));
        Value mask = channels.mask;
        if (!present.empty()) {
          Value all = e.splat(present[column], lanes);
          mask = mask ? arith::AndIOp::create(e, mask, all).getResult() : all;
        }
        if (mask)
          pixels = vector::MaskedLoadOp::create(
              e, read, image.memory, ValueRange{at}, mask,
              e.zeros(image.shape.element, lanes));
        else
          pixels =
              vector::LoadOp::create(e, read, image.memory, ValueRange{at});
        pixels = e.castFloat(pixels, image.shape.rounding, e.getF32Type());
      }
      result[pixel] =
          vector::FMAOp::create(e, factors[i], pixels, result[pixel]);
    }
  }
  return result;
}

void ChannelsLast::multiply(const Channels &channels, ArrayRef<Value> present) {
  SmallVector<Value> zeros(config.getMr(), e.zeros(e.getF32Type(), lanes));
  auto loop = scf::ForOp::create(e, firstRowTap, endRowTap, e.index(1), zeros);
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
  Value column = indices[columns().kept];
  Value count = e.min(e.index(config.getMr()), e.sub(numColumns, column));
  e.loop(count, [&](Value i) {
    Value own = vector::LoadOp::create(e, e.vectorType(e.getF32Type(), lanes),
                                       sums, ValueRange{e.mul(i, lanes)});
    SmallVector<Value> at(indices);
    at[columns().kept] = e.add(column, i);
    at[channelDim()] = channels.first;
    storeVector(e, contraction, {at, channelDim(), lanes, channels.mask}, own);
  });
}

//===----------------------------------------------------------------------===//
// Tasks
//===----------------------------------------------------------------------===//

/// Rows of taps that are in the image for a row of results.
void ChannelsLast::findRowTaps(Value row) {
  firstRowTap = e.index(0);
  endRowTap = e.index(windows.getRowTaps());
  if (!windows.rows)
    return;
  const SlidingAxis &rows = *windows.rows;
  int64_t step = std::max(std::abs(rows.dilation), int64_t(1));
  Value first = e.add(e.mul(row, rows.stride), rows.getBegin());
  auto clamp = [&](Value value) {
    return e.min(e.max(value, e.index(0)), e.index(rows.taps));
  };
  Value zero = e.index(0);
  firstRowTap = clamp(e.ceilDiv(e.max(e.sub(zero, first), zero), step));
  Value left = e.max(e.sub(getImageSize(rows.position), first), zero);
  endRowTap = clamp(e.ceilDiv(left, step));
}

void ChannelsLast::emitBlock(Value column) {
  indices[columns().kept] = column;
  Value size = getImageSize(columns().position);
  Value first = e.add(e.mul(column, columns().stride), columns().getBegin());
  place = image.origin;
  for (auto [index, stride] : llvm::zip_equal(indices, image.strides))
    if (index && stride)
      place = e.add(place, e.mul(index, stride));
  // The origin has the constants in it; windows begin elsewhere where taps go
  // backwards.
  place = e.add(place,
                e.mul(columnPitch, columns().getBegin() - columns().constant));
  if (windows.rows)
    place = e.add(place, e.mul(rowPitch, windows.rows->getBegin() -
                                             windows.rows->constant));
  Value isWithin = arith::AndIOp::create(
      e, e.less(e.index(-1), first), e.less(e.add(first, getReach()), size));
  auto emitVectors = [&](Value begin, Value end, bool isMasked) {
    SmallVector<Value> present;
    if (isMasked)
      for (int64_t i = 0; i <= getReach(); ++i) {
        Value at = e.add(first, i);
        present.push_back(arith::AndIOp::create(e, e.less(e.index(-1), at),
                                                e.less(at, size)));
      }
    e.loop(begin, end, 1, [&](Value vector) {
      Channels channels{vector, e.mul(vector, lanes), Value()};
      if (isMasked)
        channels.mask = e.firstLanes(e.sub(numChannels, channels.first), lanes);
      multiply(channels, present);
    });
  };
  Value plain = arith::SelectOp::create(e, isWithin, wholeVectors, e.index(0));
  emitVectors(e.index(0), plain, /*isMasked=*/false);
  emitVectors(plain, vectors, /*isMasked=*/true);
}

void ChannelsLast::emitRow(Value row) {
  if (windows.rows)
    indices[windows.rows->kept] = row;
  findRowTaps(row);
  e.loop(e.index(0), numColumns, config.getMr(),
         [&](Value column) { emitBlock(column); });
}

void ChannelsLast::emit() {
  numColumns = contraction.sizes[columns().kept];
  numRows = windows.rows ? contraction.sizes[windows.rows->kept] : e.index(1);
  numChannels = contraction.sizes[channelDim()];
  vectors = e.ceilDiv(numChannels, lanes);
  wholeVectors = e.div(numChannels, e.index(lanes));
  auto strides = memref::ExtractStridedMetadataOp::create(
                     e, contraction.op.getMappedOperands()[windows.image])
                     .getStrides();
  columnPitch = strides[columns().position];
  rowPitch = windows.rows ? strides[windows.rows->position] : e.index(0);
  SmallVector<Value> outerSizes;
  Value images = e.index(1);
  for (unsigned dim : windows.outer) {
    outerSizes.push_back(contraction.sizes[dim]);
    images = e.mul(images, outerSizes.back());
  }
  packed = packWeights();
  Value work = e.mul(e.mul(numColumns, numChannels), numTaps());
  Value rowsPerTask =
      e.add(e.div(e.index(taskWork), e.max(work, e.index(1))), 1);
  Value pieces = e.ceilDiv(numRows, rowsPerTask);
  e.parallel(e.mul(images, pieces), [&](Value task) {
    sums = e.scratch(0, e.index(config.getMr() * lanes), e.getF32Type());
    indices.assign(contraction.sizes.size(), Value());
    Value number = e.div(task, pieces);
    for (unsigned i = outerSizes.size(); i-- > 0;) {
      indices[windows.outer[i]] =
          i == 0 ? number : e.rem(number, outerSizes[i]);
      number = e.div(number, outerSizes[i]);
    }
    Value first = e.mul(e.rem(task, pieces), rowsPerTask);
    e.loop(first, e.min(e.add(first, rowsPerTask), numRows), 1,
           [&](Value row) { emitRow(row); });
  });
  if (config.getCached() != Cached::LHS)
    memref::DeallocOp::create(e, packed);
}

void emitChannelsLast(LoopBuilder &e, Contraction &contraction,
                      const SlidingWindows &windows) {
  ChannelsLast(e, contraction, windows).emit();
}

} // namespace mp::kernel
