//===- ColumnSums.cpp - Sums of columns of the rows of a block ------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ColumnSums.h"

#include "Combiners.h"
#include "Lanes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace mp {

ColumnSums::ColumnSums(RewriterBase &b, Location loc, const RowForm &form,
                       SharedMemory &shared, const RowTeam &team)
    : RowLanes(b, loc, form, shared, team) {
  makeChunks(/*keeps=*/true);
}

void ColumnSums::forEach(Visit visit) {
  unsigned number = 0;
  for (const RowOp &row : form.getOps())
    for (unsigned result = 0; result < row.columns.size(); ++result)
      for (const Chunk &chunk : getChunks())
        visit(row, result, chunk, number++);
}

SmallVector<Value> ColumnSums::start() {
  Values sums;
  forEach([&](const RowOp &row, unsigned result, const Chunk &chunk,
              unsigned number) {
    TypedAttr neutral = *arith::getNeutralElement(row.combiners[result]);
    sums.push_back(LaneCode(b, loc, chunk.width)
                       .broadcast(arith::ConstantOp::create(b, loc, neutral)));
  });
  return sums;
}

/// Makes shared memory for each sum.
SmallVector<Value> ColumnSums::makeShared() {
  Values memories;
  for (const RowOp &row : form.getOps())
    for (unsigned result = 0; result < row.columns.size(); ++result) {
      Type type = row.combiners[result]->getResult(0).getType();
      memories.push_back(
          shared.make(b, loc, MemRefType::get({form.getLength()}, type)));
    }
  return memories;
}

/// Adds the sums of a team to those in shared memory; the last team stores
/// them.
void ColumnSums::storeOwn(ArrayRef<Value> columns, ArrayRef<Value> memories,
                          bool isFirst, bool isLast) {
  size_t each = chunks.size() + rest.size();
  forEach([&](const RowOp &row, unsigned result, const Chunk &chunk,
              unsigned number) {
    LaneCode lanes(b, loc, chunk.width);
    auto place = [&](int64_t lane) { return Values{getLane(chunk, lane)}; };
    ifAll(chunk.isInside, Value(), [&] {
      Value sum = columns[number];
      if (!isFirst)
        sum = combine(b, row.combiners[result],
                      lanes.load(memories[number / each], place), sum);
      if (isLast)
        storeLine(sum, form.getMemories()[row.columns[result]], chunk);
      else
        lanes.store(sum, memories[number / each], place);
    });
  });
}

void ColumnSums::store(ArrayRef<Value> columns) {
  int64_t teams = team.countTeams();
  if (teams == 1)
    return storeOwn(columns, {}, /*isFirst=*/true, /*isLast=*/true);
  Values memories = makeShared();
  Value own = arith::DivUIOp::create(b, loc, team.block.id, index(team.count));
  auto byTeam = [&](Value number, bool isFirst, bool isLast) {
    Value isOwn =
        arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, own, number);
    ifAll(isOwn, Value(),
          [&] { storeOwn(columns, memories, isFirst, isLast); });
    if (!isLast)
      gpu::BarrierOp::create(b, loc);
  };
  byTeam(index(0), true, false);
  if (teams > 2) {
    auto loop =
        scf::ForOp::create(b, loc, index(1), index(teams - 1), index(1));
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    byTeam(loop.getInductionVar(), false, false);
  }
  byTeam(index(teams - 1), false, true);
}

} // namespace mp
