//===- RowCode.cpp - Rows in the registers of warps -----------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each pass computes the points that it needs and reduces them; the last one
// stores. Stores come after all loads: memory may be overwritten in place.
//
//===----------------------------------------------------------------------===//

#include "RowCode.h"

#include "ColumnSums.h"
#include "Combiners.h"
#include "Lanes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace mp {

RowCode::RowCode(RewriterBase &b, Location loc, const RowForm &form,
                 SharedMemory &shared, const RowTeam &team)
    : RowLanes(b, loc, form, shared, team), scalars(form.getValues().size()),
      points(form.getValues().size()) {}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

Value RowCode::getPoints(int value, const Chunk &chunk) {
  Value &known = points[value][chunk.slot];
  if (known)
    return known;
  // Only values that memory holds at first are not computed.
  const RowMemory &memory = form.getMemories()[form.getValues()[value].memory];
  known = loadLine(memory, chunk);
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
    warp = arith::DivUIOp::create(b, loc, team.block.id, lanes);
    lane = arith::RemUIOp::create(b, loc, team.block.id, lanes);
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
    memories.push_back(shared.make(
        b, loc, MemRefType::get({team.block.count / warpSize}, sum.getType())));
    Threads{lane, warpSize}.byFirst(b, loc, [&] {
      memref::StoreOp::create(b, loc, sum, memories.back(), warp);
    });
  });
  // Each warp combines the sums of all: no further barrier is needed.
  if (warps > 1) {
    gpu::BarrierOp::create(b, loc);
    Value place = arith::RemUIOp::create(b, loc, lane, index(warps));
    if (team.countTeams() > 1) {
      Value first = arith::DivUIOp::create(b, loc, warp, index(warps));
      first = arith::MulIOp::create(b, loc, first, index(warps));
      place = arith::AddIOp::create(b, loc, first, place);
    }
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
  auto loop = scf::ForOp::create(b, loc, index(0), index(looped * team.count),
                                 index(together * team.count), starts);
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
    SmallVector<Chunk> own;
    for (int64_t number = 0; number < together; ++number) {
      Value begin = arith::AddIOp::create(b, loc, loop.getInductionVar(),
                                          index(number * team.count));
      own.push_back(makeChunk(begin, true, number));
    }
    computePoints(needed, own);
    addToSums(pass, own, sums);
    if (pass + 1 == form.countPasses())
      for (const Chunk &chunk : own)
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
  if (looped > 0)
    emitLoop(pass, needed, sums);
  computePoints(needed, chunks);
  computePoints(needed, rest);
  addToSums(pass, chunks, sums);
  combineLanes(pass, sums);
  addToSums(pass, rest, sums);
  finishReductions(pass, sums);
}

void RowCode::emit(bool keeps, SmallVectorImpl<Value> &columns) {
  for (auto [number, value] : llvm::enumerate(form.getValues()))
    if (value.op < 0 && !value.isPoints) {
      const RowMemory &memory = form.getMemories()[value.memory];
      scalars[number] = memref::LoadOp::create(b, loc, memory.memref,
                                               getIndices(memory, Value()));
    }
  makeChunks(keeps);
  size_t slots = together + chunks.size() + rest.size();
  for (Values &list : points)
    list.assign(slots, Value());
  for (int pass = 0; pass < form.countPasses(); ++pass) {
    emitScalars(pass);
    emitPass(pass, keeps);
    addToColumns(pass, columns);
  }
  for (const Chunk &chunk : getChunks())
    storePoints(chunk);
  storeScalars();
}

//===----------------------------------------------------------------------===//
// Sums of columns
//===----------------------------------------------------------------------===//

/// Adds the points of a row, unless its results are not stored.
void RowCode::addToColumns(int pass, MutableArrayRef<Value> columns) {
  size_t each = chunks.size() + rest.size(), first = 0;
  for (const RowOp &row : form.getOps()) {
    size_t count = row.columns.size();
    for (const Chunk &chunk : getChunks()) {
      if (count == 0 || row.pass != pass)
        continue;
      Values sums;
      for (size_t result = 0; result < count; ++result)
        sums.push_back(columns[first + result * each + chunk.slot]);
      for (auto [result, next] : llvm::enumerate(emitBody(row, chunk, sums)))
        columns[first + result * each + chunk.slot] =
            team.isStored ? arith::SelectOp::create(b, loc, team.isStored, next,
                                                    sums[result])
                                .getResult()
                          : next;
    }
    first += count * each;
  }
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
      storeLine(value, *memory, chunk);
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

/// Finds the row of each thread among `count`, in `number`, which is at first
/// that of its block's rows. Threads after the last row compute that as well,
/// but do not store it: all come to shuffles and barriers.
static RowTeam findTeam(OpBuilder &b, Location loc, int64_t count,
                        const Threads &threads, int64_t perRow, Value &number) {
  RowTeam team{threads.id, perRow, threads, Value()};
  int64_t perBlock = team.countTeams();
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

/// Replaces the loop over the rows of a block, whose columns are summed up.
static void emitRowLoop(RewriterBase &b, scf::ForOp loop, const RowForm &form,
                        SharedMemory &shared, const Threads &threads,
                        int64_t perRow) {
  Location loc = loop.getLoc();
  int64_t count = *getConstantIntValue(loop.getUpperBound());
  b.setInsertionPoint(loop);
  Value first = makeIndex(b, loc, 0);
  RowTeam all =
      findTeam(b, loc, threads.count / perRow, threads, perRow, first);
  ColumnSums columns(b, loc, form, shared, all);
  SmallVector<Value> sums = emitSequence(
      b, loc, llvm::divideCeil(count, all.countTeams()), columns.start(),
      [&](Value turn, ArrayRef<Value> inner) {
        RowTeam team = findTeam(b, loc, count, threads, perRow, turn);
        b.eraseOp(loop.getBody()->getTerminator());
        b.inlineBlockBefore(loop.getBody(), b.getInsertionBlock(),
                            b.getInsertionPoint(), turn);
        SmallVector<Value> own(inner);
        RowCode(b, loc, form, shared, team).emit(/*keeps=*/true, own);
        // The next row has the same shared memory.
        if (perRow > warpSize)
          gpu::BarrierOp::create(b, loc);
        return own;
      });
  columns.store(sums);
  b.eraseOp(loop);
}

LogicalResult emitRowTeams(RewriterBase &b, scf::ForallOp forall,
                           const RowRange &rows, SharedMemory &shared,
                           const Threads &threads, Value block,
                           int64_t perRow) {
  std::optional<RowForm> form = RowForm::get(forall);
  if (!form)
    return forall.emitOpError("has no form that threads of a row can compute");
  bool keeps = RowThreads::keepsValues(*form, perRow);
  if (form->hasColumns() && !keeps)
    return forall.emitOpError("has rows that are too long for sums of columns");
  SmallVector<Operation *> ops;
  forall.walk([&](Operation *op) {
    if (isa<linalg::GenericOp, memref::AllocOp, memref::AllocaOp,
            memref::DeallocOp>(op))
      ops.push_back(op);
  });
  Location loc = forall.getLoc();
  Value number = block;
  if (scf::ForOp loop = findRowLoop(forall)) {
    inlineRow(b, forall, rows, number);
    emitRowLoop(b, loop, *form, shared, threads, perRow);
  } else {
    RowTeam team = findTeam(b, loc, rows.count, threads, perRow, number);
    inlineRow(b, forall, rows, number);
    SmallVector<Value> columns;
    RowCode(b, loc, *form, shared, team).emit(keeps, columns);
  }
  for (Operation *op : llvm::reverse(ops))
    b.eraseOp(op);
  b.eraseOp(forall);
  return success();
}

} // namespace mp
