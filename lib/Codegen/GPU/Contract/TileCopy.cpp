//===- TileCopy.cpp - Tiles of operands in shared memory ------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TileCopy.h"

#include <numeric>

using namespace mlir;

namespace mp::kernel::tiling {

Value getSwizzled(TileBuilder &e, Value line, Value position,
                  int64_t chunksPerLine, int64_t swizzle) {
  // Eight chunks fill all banks; chunks are exchanged within groups of a line.
  int64_t group = std::gcd(chunksPerLine, int64_t(8));
  Value turn = e.rem(e.mul(e.div(line, 8 / group), swizzle), group);
  return e.exclusiveOr(position, turn);
}

TileCopy::TileCopy(TileBuilder &e, const Problem &problem, const TilePlan &plan,
                   const CopyPlan &copy, const OperandPlaces &places,
                   Value shared, Value thread, const BlockPlace &block)
    : problem(problem), copy(copy), places(places), shared(shared),
      thread(thread), numThreads(plan.numThreads), tileK(plan.tile.getK()),
      chunksPerLine(copy.line / copy.chunk),
      count(llvm::divideCeil(copy.getChunks(), numThreads)) {
  Value begin = copy.kind == M ? block.m : block.n;
  int64_t length = copy.kind == M ? plan.tile.getM() : plan.tile.getN();
  Place batch = places.atBatch(e, block.batch);
  auto addFixed = [&](Value index) {
    Value at = e.add(begin, index);
    Place place = copy.alongK ? places.at(e, copy.kind, at, length)
                              : getInLine(e, copy.kind, at, length);
    fixed.push_back(places.add(e, batch, place));
  };
  if (copy.alongK) {
    for (int64_t line = 0; line <= getLine(count - 1); ++line)
      addFixed(getLineIndex(e, line));
  } else {
    for (int64_t position = 0; position < getNumPositions(); ++position)
      for (int64_t j = 0; j < getAccesses(); ++j)
        addFixed(e.add(e.mul(getPositionIndex(e, position), copy.chunk),
                       j * copy.width));
  }
  for (int64_t i = 0; i < count; ++i) {
    Value line = getLineIndex(e, getLine(i));
    Value position = getPositionIndex(e, getPosition(i));
    if (plan.tile.getBy() != Multiplier::FMA)
      position = getSwizzled(e, line, position, chunksPerLine, copy.swizzle);
    Value inLine = e.mul(position, copy.chunk);
    targets.push_back(copy.alongK && !copy.linesOfK
                          ? e.add(line, e.mul(inLine, copy.pitch))
                          : e.add(e.mul(line, copy.pitch), inLine));
  }
}

Place TileCopy::getInLine(TileBuilder &e, GroupKind kind, Value index,
                          int64_t step) const {
  Place place = places.at(e, kind, index, step);
  if (copy.isRagged)
    place.left = e.sub(e.index(problem.sizes[kind]), index);
  return place;
}

Value TileCopy::takesPart(TileBuilder &e, int64_t i) const {
  if ((i + 1) * numThreads <= copy.getChunks())
    return Value();
  return e.isWithin(e.add(thread, i * numThreads), copy.getChunks());
}

Value TileCopy::getLineIndex(TileBuilder &e, int64_t line) const {
  if (isEven())
    return e.add(e.div(thread, chunksPerLine),
                 line * (numThreads / chunksPerLine));
  if (isRepeated())
    return e.index(line);
  return e.div(e.add(thread, line * numThreads), chunksPerLine);
}

Value TileCopy::getPositionIndex(TileBuilder &e, int64_t position) const {
  if (isEven())
    return e.rem(thread, chunksPerLine);
  Value chunk = e.add(thread, position * numThreads);
  return isRepeated() ? chunk : e.rem(chunk, chunksPerLine);
}

SmallVector<TileCopy::Access> TileCopy::getAccesses(TileBuilder &e,
                                                    Value k) const {
  // Places along K, of each line, or of each position and access.
  SmallVector<Place> along;
  auto add = [&](Value index) {
    Value at = e.add(k, index);
    along.push_back(copy.alongK ? getInLine(e, K, at, tileK)
                                : places.at(e, K, at, tileK));
  };
  if (!copy.alongK) {
    for (int64_t line = 0; line <= getLine(count - 1); ++line)
      add(getLineIndex(e, line));
  } else {
    for (int64_t position = 0; position < getNumPositions(); ++position)
      for (int64_t j = 0; j < getAccesses(); ++j)
        add(e.add(e.mul(getPositionIndex(e, position), copy.chunk),
                  j * copy.width));
  }
  SmallVector<Access> accesses;
  for (int64_t i = 0; i < count; ++i)
    for (int64_t j = 0; j < getAccesses(); ++j) {
      int64_t line = getLine(i), inLine = getPosition(i) * getAccesses() + j;
      Place place = places.add(e, fixed[copy.alongK ? line : inLine],
                               along[copy.alongK ? inLine : line]);
      Value valid = e.both(takesPart(e, i), places.isValid(e, place));
      Value count;
      if (place.left)
        count = e.select(e.isWithin(place.left, copy.width), place.left,
                         e.index(copy.width));
      accesses.push_back(
          {e.select(valid, place.offset, e.index(0)), valid, count});
    }
  return accesses;
}

Value TileCopy::getTarget(TileBuilder &e, int64_t i, int64_t element,
                          Value stage) const {
  bool isTurned = copy.alongK && !copy.linesOfK;
  Value inStage = e.add(targets[i], isTurned ? element * copy.pitch : element);
  return e.add(e.mul(stage, copy.getStageSize()), inStage);
}

void TileCopy::start(TileBuilder &e, Value k, Value stage) const {
  SmallVector<Access> accesses = getAccesses(e, k);
  int64_t bits = places.getElement().getIntOrFloatBitWidth();
  for (int64_t i = 0; i < count; ++i)
    e.ifThen(takesPart(e, i), [&] {
      for (int64_t j = 0; j < getAccesses(); ++j) {
        const Access &access = accesses[i * getAccesses() + j];
        Value target = getTarget(e, i, j * copy.width, stage);
        Value elements;
        Value whole = access.count ? access.count : e.index(copy.width);
        if (access.valid || access.count)
          elements = e.toIndex(e.select(access.valid, whole, e.index(0)));
        nvgpu::DeviceAsyncCopyOp::create(
            e, nvgpu::DeviceAsyncTokenType::get(e.getContext()), shared,
            ValueRange{e.toIndex(target)}, places.getMemory(),
            ValueRange{e.toIndex(access.offset)}, e.getIndexAttr(copy.width),
            elements, copy.width * bits == 128 ? e.getUnitAttr() : UnitAttr());
      }
    });
}

SmallVector<Type> TileCopy::getReadTypes(TileBuilder &e) const {
  Type type = places.getElement();
  if (copy.width > 1)
    type = VectorType::get({copy.width}, type);
  return SmallVector<Type>(count * getAccesses(), type);
}

SmallVector<Value> TileCopy::read(TileBuilder &e, Value k) const {
  SmallVector<Value> values;
  for (const Access &access : getAccesses(e, k)) {
    Value value = e.load(places.getMemory(), access.offset, copy.width);
    values.push_back(e.select(access.valid, value, e.zero(value.getType())));
  }
  return values;
}

void TileCopy::write(TileBuilder &e, ValueRange values, Value stage) const {
  Type rounding = problem.getFactor(copy.operand);
  for (int64_t i = 0; i < count; ++i)
    e.ifThen(takesPart(e, i), [&] {
      SmallVector<Value> elements;
      for (Value value : values.slice(i * getAccesses(), getAccesses()))
        llvm::append_range(
            elements, e.getElements(e.castFloat(e.castFloat(value, rounding),
                                                copy.element)));
      // A transposed chunk goes to several rows element by element; others go
      // to one row in pieces of 16 bytes.
      bool isTurned = copy.alongK && !copy.linesOfK;
      int64_t most = isTurned ? 1 : 128 / copy.element.getIntOrFloatBitWidth();
      ArrayRef<Value> left = elements;
      for (int64_t j = 0; !left.empty(); j += most) {
        ArrayRef<Value> some = left.take_front(most);
        e.store(e.fromElements(some), shared, getTarget(e, i, j, stage));
        left = left.drop_front(some.size());
      }
    });
}

} // namespace mp::kernel::tiling
