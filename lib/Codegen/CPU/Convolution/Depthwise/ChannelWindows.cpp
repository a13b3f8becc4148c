//===- ChannelWindows.cpp - Windows whose channels are last ---------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ChannelWindows.h"

using namespace mlir;

namespace mp::kernel {

ChannelWindows::ChannelWindows(LoopBuilder &e, Contraction &contraction,
                               const DepthwiseWindows &windows)
    : e(e), contraction(contraction), config(*contraction.op.getConfig()),
      windows(windows), image(contraction.views[windows.image]),
      lanes(config.getLanes()) {
  numColumns = contraction.sizes[columns().pixel];
  numRows = windows.rows ? contraction.sizes[windows.rows->pixel] : e.index(1);
  numChannels = contraction.sizes[channelDim()];
  vectors = e.ceilDiv(numChannels, lanes);
  wholeVectors = e.div(numChannels, e.index(lanes));
  auto strides = memref::ExtractStridedMetadataOp::create(
                     e, contraction.op.getMappedOperands()[windows.image])
                     .getStrides();
  columnPitch = strides[columns().position];
  rowPitch = windows.rows ? strides[windows.rows->position] : e.index(0);
  numImages = e.index(1);
  for (unsigned dim : windows.outer) {
    outerSizes.push_back(contraction.sizes[dim]);
    numImages = e.mul(numImages, outerSizes.back());
  }
}

Value ChannelWindows::getImageSize(unsigned position) {
  return memref::DimOp::create(
      e, contraction.op.getMappedOperands()[windows.image], int64_t(position));
}

void ChannelWindows::moveToImage(Value number) {
  indices.assign(contraction.sizes.size(), Value());
  for (unsigned i = outerSizes.size(); i-- > 0;) {
    indices[windows.outer[i]] = i == 0 ? number : e.rem(number, outerSizes[i]);
    number = e.div(number, outerSizes[i]);
  }
}

/// Finds the rows of the filter that are in the image for a row of pixels.
void ChannelWindows::findFilterRows(Value row) {
  firstFilterRow = e.index(0);
  endFilterRow = e.index(windows.getFilterRows());
  if (!windows.rows)
    return;
  const DepthwiseAxis &rows = *windows.rows;
  int64_t step = std::max(std::abs(rows.dilation), int64_t(1));
  Value first = e.add(e.mul(row, rows.stride), rows.getBegin());
  auto clamp = [&](Value value) {
    return e.min(e.max(value, e.index(0)), e.index(rows.filterSize));
  };
  Value zero = e.index(0);
  firstFilterRow = clamp(e.ceilDiv(e.max(e.sub(zero, first), zero), step));
  Value left = e.max(e.sub(getImageSize(rows.position), first), zero);
  endFilterRow = clamp(e.ceilDiv(left, step));
}

void ChannelWindows::moveToRow(Value row) {
  if (windows.rows)
    indices[windows.rows->pixel] = row;
  findFilterRows(row);
}

void ChannelWindows::emitBlock(Value column, Value begin, Value end,
                               BlockFn body) {
  indices[columns().pixel] = column;
  Value size = getImageSize(columns().position);
  Value first = e.add(e.mul(column, columns().stride), columns().getBegin());
  // The origin has the constants in it; windows begin elsewhere where filters
  // go backwards.
  place = e.add(image.getOffset(e, indices),
                e.mul(columnPitch, columns().getBegin() - columns().offset));
  if (windows.rows)
    place = e.add(place, e.mul(rowPitch, windows.rows->getBegin() -
                                             windows.rows->offset));
  auto both = [&](Value one, Value other) -> Value {
    return arith::AndIOp::create(e, one, other);
  };
  Value isWithin =
      both(e.less(e.index(-1), first), e.less(e.add(first, getReach()), size));
  // Sums over pixels read these one by one, too.
  if (windows.sumsPixels)
    isWithin =
        both(isWithin, e.less(e.add(column, config.getMr() - 1), numColumns));
  auto emitVectors = [&](Value begin, Value end, bool isMasked) {
    SmallVector<Value> present;
    if (isMasked)
      for (int64_t i = 0; i <= getReach(); ++i) {
        Value at = e.add(first, i);
        present.push_back(both(e.less(e.index(-1), at), e.less(at, size)));
      }
    e.loop(begin, end, 1, [&](Value vector) {
      Channels channels{vector, e.mul(vector, lanes), Value()};
      if (isMasked)
        channels.mask = e.firstLanes(e.sub(numChannels, channels.first), lanes);
      body(channels, present);
    });
  };
  Value wholeEnd = e.max(e.min(end, wholeVectors), begin);
  Value plain = arith::SelectOp::create(e, isWithin, wholeEnd, begin);
  emitVectors(begin, plain, /*isMasked=*/false);
  emitVectors(plain, end, /*isMasked=*/true);
}

void ChannelWindows::emitBlocks(Value begin, Value end, BlockFn body) {
  e.loop(e.index(0), numColumns, config.getMr(),
         [&](Value column) { emitBlock(column, begin, end, body); });
}

Value ChannelWindows::getLine(Value filterRow) {
  if (!windows.rows)
    return place;
  int64_t step = std::abs(windows.rows->dilation);
  return e.add(place, e.mul(e.mul(filterRow, rowPitch), step));
}

Value ChannelWindows::readImage(Value line, int64_t column,
                                const Channels &channels,
                                ArrayRef<Value> present) {
  VectorType type = e.vectorType(image.shape.element, lanes);
  Value at = e.add(line, e.mul(columnPitch, column));
  Value mask = channels.mask;
  if (!present.empty()) {
    Value all = e.splat(present[column], lanes);
    mask = mask ? arith::AndIOp::create(e, mask, all).getResult() : all;
  }
  Value pixels;
  if (mask)
    pixels =
        vector::MaskedLoadOp::create(e, type, image.memory, ValueRange{at},
                                     mask, e.zeros(image.shape.element, lanes));
  else
    pixels = vector::LoadOp::create(e, type, image.memory, ValueRange{at});
  return e.castFloat(pixels, image.shape.rounding, e.getF32Type());
}

} // namespace mp::kernel
