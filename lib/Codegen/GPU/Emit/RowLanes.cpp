//===- RowLanes.cpp - The points that threads have of a row ---------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RowLanes.h"

#include "Lanes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace mp {

RowLanes::RowLanes(RewriterBase &b, Location loc, const RowForm &form,
                   SharedMemory &shared, const RowTeam &team)
    : b(b), loc(loc), form(form), shared(shared), team(team),
      width(form.getWidth()), vectors(form.getLength() / width) {}

Value RowLanes::isLess(Value x, int64_t y) {
  return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, x, index(y));
}

void RowLanes::ifAll(Value first, Value second, function_ref<void()> body) {
  if (!first)
    std::swap(first, second);
  if (!first)
    return body();
  if (second)
    first = arith::AndIOp::create(b, loc, first, second);
  auto branch = scf::IfOp::create(b, loc, first);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  body();
}

/// The thread's vector among those from number `begin` on.
RowChunk RowLanes::makeChunk(Value begin, bool isFull, unsigned slot) {
  Value number = arith::AddIOp::create(b, loc, begin, team.thread);
  Value isInside;
  if (!isFull) {
    isInside = isLess(number, vectors);
    number = arith::MinUIOp::create(b, loc, number, index(vectors - 1));
  }
  Value first = arith::MulIOp::create(b, loc, number, index(width));
  return {first, width, isInside, slot};
}

/// Vectors that a thread loads together: enough bytes are on their way if few
/// threads run at a time. The elements of all of them are in registers.
constexpr int64_t maxTogether = 4, maxTogetherElements = 32;

static int64_t countTogether(const RowForm &form, int64_t width) {
  int64_t lines = llvm::count_if(form.getMemories(), [](const RowMemory &own) {
    return own.isPoints && own.isUsed();
  });
  int64_t elements = width * std::max<int64_t>(lines, 1);
  return std::clamp<int64_t>(maxTogetherElements / elements, 1, maxTogether);
}

void RowLanes::makeChunks(bool keeps) {
  int64_t full = vectors / team.count, partial = vectors % team.count;
  together = keeps ? 0 : std::min(full, countTogether(form, width));
  looped = keeps ? 0 : full - full % std::max<int64_t>(together, 1);
  unsigned slot = together;
  for (int64_t number = looped; number < full; ++number)
    chunks.push_back(makeChunk(index(number * team.count), true, slot++));
  if (partial)
    chunks.push_back(makeChunk(index(full * team.count), false, slot++));
  int64_t begin = vectors * width, left = form.getLength() - begin;
  for (int64_t number = 0; number < left; number += team.count) {
    Value own = arith::AddIOp::create(b, loc, team.thread, index(number));
    Value isInside = isLess(own, left);
    own = arith::MinUIOp::create(b, loc, own, index(left - 1));
    Value first = arith::AddIOp::create(b, loc, own, index(begin));
    rest.push_back({first, 1, isInside, slot++});
  }
}

SmallVector<RowChunk> RowLanes::getChunks() const {
  SmallVector<RowChunk> all(chunks);
  llvm::append_range(all, rest);
  return all;
}

SmallVector<Value> RowLanes::getIndices(const RowMemory &memory, Value point) {
  SmallVector<Value> along, indices;
  if (memory.isPoints)
    along = delinearize(b, loc, point, form.getExtents());
  for (int axis : memory.axes)
    indices.push_back(axis < 0 ? index(0) : along[axis]);
  return indices;
}

Value RowLanes::getLane(const Chunk &chunk, int64_t lane) {
  if (lane == 0)
    return chunk.first;
  return arith::AddIOp::create(b, loc, chunk.first, index(lane));
}

Value RowLanes::loadLine(const RowMemory &memory, const Chunk &chunk) {
  return LaneCode(b, loc, chunk.width).load(memory.memref, [&](int64_t lane) {
    return getIndices(memory, getLane(chunk, lane));
  });
}

void RowLanes::storeLine(Value value, const RowMemory &memory,
                         const Chunk &chunk) {
  LaneCode(b, loc, chunk.width).store(value, memory.memref, [&](int64_t lane) {
    return getIndices(memory, getLane(chunk, lane));
  });
}

} // namespace mp
