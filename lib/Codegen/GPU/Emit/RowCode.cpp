//===- RowCode.cpp - Rows in the registers of warps -----------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A thread has every `count`-th vector of a row, so that neighbouring threads
// access neighbouring memory. Vectors after the end of the row are copies of
// the last one: they are loaded and computed without a branch, but neither
// added to sums nor stored. Stores come after all loads: memory may be
// overwritten in place.
//
//===----------------------------------------------------------------------===//

#include "RowCode.h"

#include "Combiners.h"
#include "Lanes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace mp {

RowCode::RowCode(RewriterBase &b, Location loc, const RowForm &form,
                 SharedMemory &shared, const RowTeam &team)
    : b(b), loc(loc), form(form), shared(shared), team(team),
      width(form.getWidth()), vectors(form.getLength() / width),
      scalars(form.getValues().size()), points(form.getValues().size()) {}

Value RowCode::isLess(Value x, int64_t y) {
  return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, x, index(y));
}

/// Emits `body` for threads for which both are true; null is true for all.
void RowCode::ifAll(Value first, Value second, function_ref<void()> body) {
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

//===----------------------------------------------------------------------===//
// Chunks
//===----------------------------------------------------------------------===//

/// The thread's vector among those from number `begin` on.
RowCode::Chunk RowCode::makeChunk(Value begin, bool isFull, unsigned slot) {
  Value number = arith::AddIOp::create(b, loc, begin, team.thread);
  Value isInside;
  if (!isFull) {
    isInside = isLess(number, vectors);
    number = arith::MinUIOp::create(b, loc, number, index(vectors - 1));
  }
  Value first = arith::MulIOp::create(b, loc, number, index(width));
  return {first, width, isInside, slot};
}

void RowCode::makeChunks(bool keeps) {
  int64_t full = vectors / team.count, partial = vectors % team.count;
  iterations = keeps ? 0 : full;
  unsigned slot = iterations > 0;
  for (int64_t number = iterations; number < full; ++number)
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
  for (Values &list : points)
    list.assign(slot, Value());
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

/// The indices of a point in memory, or of the only element.
SmallVector<Value> RowCode::getIndices(const RowMemory &memory, Value point) {
  SmallVector<Value> along, indices;
  if (memory.isPoints)
    along = delinearize(b, loc, point, form.getExtents());
  for (int axis : memory.axes)
    indices.push_back(axis < 0 ? index(0) : along[axis]);
  return indices;
}

Value RowCode::getPoints(int value, const Chunk &chunk) {
  Value &known = points[value][chunk.slot];
  if (known)
    return known;
  // Only values that memory holds at first are not computed.
  const RowMemory &memory = form.getMemories()[form.getValues()[value].memory];
  known = LaneCode(b, loc, chunk.width).load(memory.memref, [&](int64_t lane) {
    Value point = chunk.first;
    if (lane)
      point = arith::AddIOp::create(b, loc, point, index(lane));
    return getIndices(memory, point);
  });
  return known;
}

/// Emits an op for the points of a chunk; `sums` replace the outputs' elements.
SmallVector<Value> RowCode::emitBody(const RowOp &row, const Chunk &chunk,
                                     ArrayRef<Value> sums) {
  linalg::GenericOp op = row.op;
  LaneCode lanes(b, loc, chunk.width);
  IRMapping mapping;
  Block &block = op.getRegion().front();
  unsigned numInputs = op.getNumDpsInputs();
  for (OpOperand &operand : op->getOpOperands()) {
    unsigned number = operand.getOperandNumber();
    BlockArgument argument = block.getArgument(number);
    int value = row.operands[number];
    if (number >= numInputs && !sums.empty())
      mapping.map(argument, sums[number - numInputs]);
    else if (!isa<MemRefType>(operand.get().getType()))
      mapping.map(argument, operand.get());
    else if (value >= 0)
      mapping.map(argument, form.getValues()[value].isPoints
                                ? getPoints(value, chunk)
                                : scalars[value]);
  }
  return lanes.emit(block, mapping, [&](uint64_t dim) {
    return row.dims[dim] < 0 ? index(0) : lanes.countFrom(chunk.first);
  });
}

void RowCode::emitScalars(int pass) {
  for (const RowOp &row : form.getOps()) {
    if (row.kind != RowOpKind::Scalar || row.pass != pass)
      continue;
    Values results = emitBody(row, {index(0), 1, Value(), 0}, {});
    for (auto [value, result] : llvm::zip(row.results, results))
      scalars[value] = result;
  }
}

void RowCode::computePoints(const llvm::BitVector &needed,
                            ArrayRef<Chunk> list) {
  for (unsigned number : needed.set_bits()) {
    const RowOp &row = form.getOps()[number];
    for (const Chunk &chunk : list)
      for (auto [value, result] :
           llvm::zip(row.results, emitBody(row, chunk, {})))
        points[value][chunk.slot] = result;
  }
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

SmallVector<unsigned> RowCode::findReductions(int pass) const {
  SmallVector<unsigned> found;
  for (auto [number, row] : llvm::enumerate(form.getOps()))
    if (row.kind == RowOpKind::Reduction && row.pass == pass)
      found.push_back(number);
  return found;
}

void RowCode::addToSums(int pass, ArrayRef<Chunk> list, Sums &sums) {
  for (auto [number, own] : llvm::zip(findReductions(pass), sums))
    for (const Chunk &chunk : list) {
      Values added = emitBody(form.getOps()[number], chunk, own);
      for (auto [sum, next] : llvm::zip(own, added))
        sum = chunk.isInside
                  ? arith::SelectOp::create(b, loc, chunk.isInside, next, sum)
                        .getResult()
                  : next;
    }
}

void RowCode::combineLanes(int pass, Sums &sums) {
  for (auto [number, own] : llvm::zip(findReductions(pass), sums))
    for (auto [sum, combiner] : llvm::zip(own, form.getOps()[number].combiners))
      sum = combineVector(b, combiner, sum);
}

/// Combines the sums of all threads, and the start values.
void RowCode::finishReductions(int pass, Sums &sums) {
  SmallVector<unsigned> list = findReductions(pass);
  if (list.empty())
    return;
  int64_t warps = team.count / warpSize;
  Value warp, lane;
  if (warps > 1) {
    Value lanes = index(warpSize);
    warp = arith::DivUIOp::create(b, loc, team.thread, lanes);
    lane = arith::RemUIOp::create(b, loc, team.thread, lanes);
  }
  auto forEach =
      [&](function_ref<void(const RowOp &, unsigned, Value &)> body) {
        for (auto [number, own] : llvm::zip(list, sums))
          for (auto [result, sum] : llvm::enumerate(own))
            body(form.getOps()[number], result, sum);
      };
  auto reduce = [&](const RowOp &row, unsigned result, Value sum,
                    int64_t count) {
    Operation *combiner = row.combiners[result];
    return reduceLanes(b, loc, sum, count,
                       [&](OpBuilder &at, Value x, Value y) {
                         return combine(at, combiner, x, y);
                       });
  };
  Values memories;
  forEach([&](const RowOp &row, unsigned result, Value &sum) {
    sum = reduce(row, result, sum, std::min<int64_t>(team.count, warpSize));
    if (warps <= 1)
      return;
    memories.push_back(
        shared.make(b, loc, MemRefType::get({warps}, sum.getType())));
    Threads{lane, warpSize}.byFirst(b, loc, [&] {
      memref::StoreOp::create(b, loc, sum, memories.back(), warp);
    });
  });
  // Each warp combines the sums of all: no further barrier is needed.
  if (warps > 1) {
    gpu::BarrierOp::create(b, loc);
    Value place = arith::RemUIOp::create(b, loc, lane, index(warps));
    Value *memory = memories.begin();
    forEach([&](const RowOp &row, unsigned result, Value &sum) {
      Value partial = memref::LoadOp::create(b, loc, *memory++, place);
      sum = reduce(row, result, partial, warps);
    });
  }
  forEach([&](const RowOp &row, unsigned result, Value &sum) {
    linalg::GenericOp op = row.op;
    Value start = scalars[row.operands[op.getNumDpsInputs() + result]];
    scalars[row.results[result]] =
        combine(b, row.combiners[result], start, sum);
  });
}

//===----------------------------------------------------------------------===//
// Passes
//===----------------------------------------------------------------------===//

/// The ops that compute points in a pass. Unless values are kept, these are all
/// that its reductions, or the results in memory, depend on.
llvm::BitVector RowCode::findNeeded(int pass, bool keeps) const {
  ArrayRef<RowOp> ops = form.getOps();
  llvm::BitVector needed(ops.size()), used(form.getValues().size());
  if (pass + 1 == form.countPasses())
    for (const RowMemory &memory : form.getMemories())
      if (memory.last >= 0)
        used.set(memory.last);
  for (unsigned number = ops.size(); number-- > 0;) {
    const RowOp &row = ops[number];
    bool isNeeded = row.pass == pass && row.kind != RowOpKind::Scalar;
    if (!keeps && row.kind == RowOpKind::Points)
      isNeeded =
          llvm::any_of(row.results, [&](int value) { return used[value]; });
    if (!isNeeded)
      continue;
    for (int value : row.operands)
      if (value >= 0)
        used.set(value);
    if (row.kind == RowOpKind::Points)
      needed.set(number);
  }
  return needed;
}

/// Emits the iterations in which all threads have a vector.
void RowCode::emitLoop(int pass, const llvm::BitVector &needed, Sums &sums) {
  Values starts;
  for (const Values &own : sums)
    llvm::append_range(starts, own);
  auto loop =
      scf::ForOp::create(b, loc, index(0), index(iterations * team.count),
                         index(team.count), starts);
  auto take = [&](ValueRange values) {
    for (Values &own : sums)
      for (Value &sum : own) {
        sum = values.front();
        values = values.drop_front();
      }
  };
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    take(loop.getRegionIterArgs());
    Chunk chunk = makeChunk(loop.getInductionVar(), true, 0);
    computePoints(needed, chunk);
    addToSums(pass, chunk, sums);
    if (pass + 1 == form.countPasses())
      storePoints(chunk);
    Values results;
    for (const Values &own : sums)
      llvm::append_range(results, own);
    if (!results.empty())
      scf::YieldOp::create(b, loc, results);
  }
  take(loop.getResults());
  for (Values &list : points)
    llvm::fill(list, Value());
}

void RowCode::emitPass(int pass, bool keeps) {
  Sums sums;
  LaneCode lanes(b, loc, width);
  for (unsigned number : findReductions(pass)) {
    sums.emplace_back();
    for (Operation *combiner : form.getOps()[number].combiners) {
      Value neutral = arith::ConstantOp::create(
          b, loc, *arith::getNeutralElement(combiner));
      sums.back().push_back(lanes.broadcast(neutral));
    }
  }
  llvm::BitVector needed = findNeeded(pass, keeps);
  if (!keeps)
    for (Values &list : points)
      llvm::fill(list, Value());
  if (iterations > 0)
    emitLoop(pass, needed, sums);
  computePoints(needed, chunks);
  computePoints(needed, rest);
  addToSums(pass, chunks, sums);
  combineLanes(pass, sums);
  addToSums(pass, rest, sums);
  finishReductions(pass, sums);
}

void RowCode::emit(bool keeps) {
  for (auto [number, value] : llvm::enumerate(form.getValues()))
    if (value.op < 0 && !value.isPoints) {
      const RowMemory &memory = form.getMemories()[value.memory];
      scalars[number] = memref::LoadOp::create(b, loc, memory.memref,
                                               getIndices(memory, Value()));
    }
  makeChunks(keeps);
  for (int pass = 0; pass < form.countPasses(); ++pass) {
    emitScalars(pass);
    emitPass(pass, keeps);
  }
  for (const Chunk &chunk : llvm::concat<Chunk>(chunks, rest))
    storePoints(chunk);
  storeScalars();
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

void RowCode::storePoints(const Chunk &chunk) {
  SmallVector<const RowMemory *> stored;
  for (const RowMemory &memory : form.getMemories())
    if (memory.isPoints && memory.last >= 0)
      stored.push_back(&memory);
  Values values;
  for (const RowMemory *memory : stored)
    values.push_back(getPoints(memory->last, chunk));
  if (stored.empty())
    return;
  ifAll(chunk.isInside, team.isStored, [&] {
    for (auto [memory, value] : llvm::zip(stored, values))
      LaneCode(b, loc, chunk.width)
          .store(value, memory->memref, [&, own = memory](int64_t lane) {
            Value point = chunk.first;
            if (lane)
              point = arith::AddIOp::create(b, loc, point, index(lane));
            return getIndices(*own, point);
          });
  });
}

void RowCode::storeScalars() {
  SmallVector<const RowMemory *> stored;
  bool isRead = false;
  for (const RowMemory &memory : form.getMemories())
    if (!memory.isPoints && memory.last >= 0) {
      stored.push_back(&memory);
      isRead |= memory.first >= 0;
    }
  if (stored.empty())
    return;
  // All threads have read the memory before one writes it.
  if (isRead)
    gpu::BarrierOp::create(b, loc);
  Value isFirst;
  if (team.count > 1)
    isFirst = isLess(team.thread, 1);
  ifAll(isFirst, team.isStored, [&] {
    for (const RowMemory *memory : stored)
      memref::StoreOp::create(b, loc, scalars[memory->last], memory->memref,
                              getIndices(*memory, Value()));
  });
}

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

void inlineRow(RewriterBase &b, scf::ForallOp forall, const RowRange &rows,
               Value number) {
  Location loc = forall.getLoc();
  Block &row = *forall.getBody();
  SmallVector<Value> indices = delinearize(b, loc, number, rows.counts);
  for (auto [index, lower, step] :
       llvm::zip(indices, rows.lowers, rows.steps)) {
    if (step != 1)
      index = arith::MulIOp::create(b, loc, index, makeIndex(b, loc, step));
    if (lower != 0)
      index = arith::AddIOp::create(b, loc, index, makeIndex(b, loc, lower));
  }
  b.eraseOp(row.getTerminator());
  b.inlineBlockBefore(&row, b.getInsertionBlock(), b.getInsertionPoint(),
                      indices);
}

/// Finds the row of each thread, in `number`. Threads after the last row
/// compute that as well, but do not store it: all come to shuffles and
/// barriers.
static RowTeam findTeam(OpBuilder &b, Location loc, int64_t count,
                        const Threads &threads, int64_t perRow, Value &number) {
  RowTeam team{threads.id, perRow, Value()};
  int64_t perBlock = threads.count / perRow;
  if (perBlock > 1) {
    Value size = makeIndex(b, loc, perRow);
    team.thread = arith::RemUIOp::create(b, loc, threads.id, size);
    Value own = arith::DivUIOp::create(b, loc, threads.id, size);
    number = arith::MulIOp::create(b, loc, number, makeIndex(b, loc, perBlock));
    number = arith::AddIOp::create(b, loc, number, own);
  }
  if (count % perBlock != 0) {
    team.isStored = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult,
                                          number, makeIndex(b, loc, count));
    number =
        arith::MinUIOp::create(b, loc, number, makeIndex(b, loc, count - 1));
  }
  return team;
}

LogicalResult emitRowTeams(RewriterBase &b, scf::ForallOp forall,
                           const RowRange &rows, SharedMemory &shared,
                           const Threads &threads, Value block,
                           int64_t perRow) {
  std::optional<RowForm> form = RowForm::get(forall);
  if (!form)
    return forall.emitOpError("has no form that threads of a row can compute");
  SmallVector<Operation *> ops;
  for (Operation &op : forall.getBody()->without_terminator())
    if (isa<linalg::GenericOp, memref::AllocOp, memref::AllocaOp,
            memref::DeallocOp>(op))
      ops.push_back(&op);
  Location loc = forall.getLoc();
  Value number = block;
  RowTeam team = findTeam(b, loc, rows.count, threads, perRow, number);
  inlineRow(b, forall, rows, number);
  RowCode(b, loc, *form, shared, team)
      .emit(RowThreads::keepsValues(*form, perRow));
  for (Operation *op : llvm::reverse(ops))
    b.eraseOp(op);
  b.eraseOp(forall);
  return success();
}

} // namespace mp
