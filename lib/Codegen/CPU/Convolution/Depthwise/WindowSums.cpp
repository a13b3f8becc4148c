//===- WindowSums.cpp - Sums over the pixels of single channels -----------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Gradients of the weights of depthwise convolutions whose channels are last:
// for each filter position, a sum over all pixels of an image's pixel times the
// gradient of the result whose filter reads it there. Vectors consist of
// channels. A task is a part of all rows of pixels, and some vectors; it has
// its own sums for all filter positions, since each row of pixels adds to all
// of them. Then all parts are added up, in one order. Parts depend on sizes
// alone: the number of threads does not change a bit.
//
//===----------------------------------------------------------------------===//

#include "ChannelWindows.h"
#include "StoreVector.h"

using namespace mlir;

namespace mp::kernel {

namespace {

/// Vectors of channels of a task: several adjacent lines of memory.
constexpr int64_t taskVectors = 8;
/// The approximate number of tasks, and the least multiply-adds of each.
constexpr int64_t numTasks = 32, windowTaskWork = 1 << 16;
/// If there are fewer sums than this, even and odd pixels are summed
/// separately, since one sum takes as long as several.
constexpr int64_t fewSums = 5;

class WindowSums : ChannelWindows {
public:
  using ChannelWindows::ChannelWindows;
  void emit();

private:
  const View &gradient() const { return contraction.views[1 - windows.image]; }
  Value getSums(Value part, Value vector);

  void findParts();
  void clear(Value begin, Value end);
  void addBlock(const Channels &channels, ArrayRef<Value> present);
  void addRow(Value filterRow, const Channels &channels,
              ArrayRef<Value> present, ArrayRef<Value> gradients,
              ArrayRef<Value> pixels);
  void addParts(Value vector);
  void store(const Channels &channels, Value filterIndex, Value sum);

  Value linesOfPart, numParts, numChunks;
  /// [part][vector of channels][filter position][lane]
  Value sums;
  /// The part that the task computes.
  Value part;
};

} // namespace

Value WindowSums::getSums(Value part, Value vector) {
  return e.mul(e.add(e.mul(part, vectors), vector), getFilterArea() * lanes);
}

/// Lines are rows of pixels of all images.
void WindowSums::findParts() {
  Value one = e.index(1);
  Value lines = e.mul(numImages, numRows);
  numChunks = e.ceilDiv(vectors, taskVectors);
  Value channels = e.min(numChannels, e.index(taskVectors * lanes));
  Value work = e.max(e.mul(e.mul(numColumns, channels), getFilterArea()), one);
  Value parts = e.ceilDiv(e.index(numTasks), e.max(numChunks, one));
  linesOfPart =
      e.max(e.ceilDiv(lines, parts), e.ceilDiv(e.index(windowTaskWork), work));
  numParts = e.max(e.ceilDiv(lines, linesOfPart), one);
}

void WindowSums::clear(Value begin, Value end) {
  e.loop(getSums(part, begin), getSums(part, end), lanes, [&](Value at) {
    vector::StoreOp::create(e, e.zeros(e.getF32Type(), lanes), sums,
                            ValueRange{at});
  });
}

/// `pixels` are conditions of the block's pixels; empty if all are there.
void WindowSums::addRow(Value filterRow, const Channels &channels,
                        ArrayRef<Value> present, ArrayRef<Value> gradients,
                        ArrayRef<Value> pixels) {
  int64_t filterSize = columns().filterSize,
          sets = filterSize < fewSums ? 2 : 1;
  VectorType type = e.vectorType(e.getF32Type(), lanes);
  Value base = e.add(getSums(part, channels.vector),
                     e.mul(filterRow, filterSize * lanes));
  SmallVector<Value> own(filterSize * sets, e.zeros(e.getF32Type(), lanes));
  for (int64_t filterIndex = 0; filterIndex < filterSize; ++filterIndex)
    own[filterIndex] = vector::LoadOp::create(
        e, type, sums, ValueRange{e.add(base, filterIndex * lanes)});
  Value line = e.add(getLine(filterRow), channels.first);
  for (int64_t column = 0; column <= getReach(); ++column) {
    Value value;
    for (int64_t filterIndex = 0; filterIndex < filterSize; ++filterIndex) {
      int64_t left = column - filterIndex * std::abs(columns().dilation);
      int64_t pixel = left / columns().stride;
      if (left < 0 || left % columns().stride != 0 || pixel >= config.getMr())
        continue;
      if (!value)
        value = readImage(line, column, channels, present);
      Value &sum = own[pixel % sets * filterSize + filterIndex];
      Value next = vector::FMAOp::create(e, gradients[pixel], value, sum);
      if (!pixels.empty())
        next = arith::SelectOp::create(e, pixels[pixel], next, sum);
      sum = next;
    }
  }
  for (int64_t filterIndex = 0; filterIndex < filterSize; ++filterIndex) {
    Value sum = own[filterIndex];
    if (sets > 1)
      sum = arith::AddFOp::create(e, sum, own[filterSize + filterIndex]);
    vector::StoreOp::create(e, sum, sums,
                            ValueRange{e.add(base, filterIndex * lanes)});
  }
}

void WindowSums::addBlock(const Channels &channels, ArrayRef<Value> present) {
  Value column = indices[columns().pixel];
  Value at = e.add(gradient().getOffset(e, indices), channels.first);
  VectorType type = e.vectorType(gradient().shape.element, lanes);
  SmallVector<Value> gradients, pixels;
  for (int64_t pixel = 0; pixel < config.getMr(); ++pixel) {
    Value place =
        e.add(at, e.mul(gradient().getStride(e, columns().pixel), pixel));
    Value value;
    if (present.empty()) {
      value =
          vector::LoadOp::create(e, type, gradient().memory, ValueRange{place});
    } else {
      pixels.push_back(e.less(e.add(column, pixel), numColumns));
      Value mask = arith::AndIOp::create(e, channels.mask,
                                         e.splat(pixels.back(), lanes));
      value = vector::MaskedLoadOp::create(
          e, type, gradient().memory, ValueRange{place}, mask,
          e.zeros(gradient().shape.element, lanes));
    }
    gradients.push_back(
        e.castFloat(value, gradient().shape.rounding, e.getF32Type()));
  }
  e.loop(firstFilterRow, endFilterRow, 1, [&](Value filterRow) {
    addRow(filterRow, channels, present, gradients, pixels);
  });
}

/// Adds all parts of a vector of channels, and stores the results of the sums.
void WindowSums::addParts(Value vector) {
  VectorType type = e.vectorType(e.getF32Type(), lanes);
  Channels channels{vector, e.mul(vector, lanes), Value()};
  channels.mask = e.firstLanes(e.sub(numChannels, channels.first), lanes);
  e.loop(e.index(getFilterArea()), [&](Value filterIndex) {
    auto loop = scf::ForOp::create(e, e.index(0), numParts, e.index(1),
                                   e.zeros(e.getF32Type(), lanes));
    {
      OpBuilder::InsertionGuard guard(e);
      e.setInsertionPointToStart(loop.getBody());
      Value at = e.add(getSums(loop.getInductionVar(), vector),
                       e.mul(filterIndex, lanes));
      Value own = vector::LoadOp::create(e, type, sums, ValueRange{at});
      Value sum =
          arith::AddFOp::create(e, loop.getRegionIterArgs().front(), own);
      scf::YieldOp::create(e, sum);
    }
    store(channels, filterIndex, loop.getResult(0));
  });
}

void WindowSums::store(const Channels &channels, Value filterIndex, Value sum) {
  SmallVector<Value> at(contraction.sizes.size());
  at[channelDim()] = channels.first;
  // Filter positions are numbered as they lie in the image.
  auto setFilterIndex = [&](const DepthwiseAxis &axis, Value place) {
    if (axis.filter)
      at[*axis.filter] = axis.dilation < 0
                             ? e.sub(e.index(axis.filterSize - 1), place)
                             : place;
  };
  Value filterSize = e.index(columns().filterSize);
  setFilterIndex(columns(), e.rem(filterIndex, filterSize));
  if (windows.rows)
    setFilterIndex(*windows.rows, e.div(filterIndex, filterSize));
  storeVector(e, contraction, {at, channelDim(), lanes, channels.mask}, sum);
}

void WindowSums::emit() {
  findParts();
  Value size = e.mul(e.mul(numParts, vectors), getFilterArea() * lanes);
  sums = e.allocate(size, e.getF32Type());
  Value lines = e.mul(numImages, numRows);
  e.parallel(e.mul(numParts, numChunks), [&](Value task) {
    part = e.div(task, numChunks);
    Value begin = e.mul(e.rem(task, numChunks), taskVectors);
    Value end = e.min(e.add(begin, taskVectors), vectors);
    clear(begin, end);
    Value first = e.mul(part, linesOfPart);
    e.loop(first, e.min(e.add(first, linesOfPart), lines), 1, [&](Value line) {
      moveToImage(e.div(line, numRows));
      moveToRow(e.rem(line, numRows));
      emitBlocks(begin, end,
                 [&](const Channels &channels, ArrayRef<Value> present) {
                   addBlock(channels, present);
                 });
    });
  });
  e.parallel(vectors, [&](Value vector) { addParts(vector); });
  memref::DeallocOp::create(e, sums);
}

void emitWindowSums(LoopBuilder &e, Contraction &contraction,
                    const DepthwiseWindows &windows) {
  WindowSums(e, contraction, windows).emit();
}

} // namespace mp::kernel
