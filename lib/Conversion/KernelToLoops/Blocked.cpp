//===- Blocked.cpp - Blocks of a contraction ------------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The output is cut into blocks, which are the tasks of one parallel loop. A
// task goes through the summed dimension in steps: it packs its columns for
// one step, which stay in the second cache, and multiplies them by the rows,
// panel by panel. Sums between steps are kept in f32 in memory of the thread,
// so that every element is summed up in one order whatever runs where.
// Rows are packed once, ahead of all tasks; where there are batches, by each
// task for itself.
//
//===----------------------------------------------------------------------===//

#include "Blocked.h"
#include "Panels.h"
#include "Tile.h"

#include "mlir/IR/TypeUtilities.h"

using namespace mlir;

namespace mp::kernel {

namespace {
class Blocked {
public:
  Blocked(Emitter &e, ContractOp op, const KernelTarget &target)
      : e(e), contraction(e, op),
        shape(getShape(op.getAccumulatorType(), target)), target(target),
        rows(e, contraction, contraction.rowsOperand, Rows, shape.rows,
             shape.lanes),
        columns(e, contraction, contraction.columnsOperand, Columns,
                shape.columns(), shape.lanes),
        output(e, contraction, shape),
        tile(getTileFunction(op->getParentOfType<ModuleOp>(), shape)) {}

  void emit();

private:
  static TileShape getShape(FloatType element, const KernelTarget &target) {
    int64_t lanes = target.vectorBytes / (element.getWidth() / 8);
    return {element, target.rows, target.columnVectors, lanes};
  }
  bool isBatched() { return !contraction.groups[Batch].dims.empty(); }
  void chooseBlocks();
  Value packRows();
  void emitTask(Value task, Value packedRows);
  void emitStep(Value step);
  Value getScratch(int slot, Value count);

  /// What the steps of a task share.
  struct Task {
    Value firstRowPanel, rowPanels, firstColumnPanel, columnPanels;
    Value packedRows, packedColumns, sums;
  };

  Emitter &e;
  Contraction contraction;
  TileShape shape;
  KernelTarget target;
  Side rows, columns;
  TileStore output;
  func::FuncOp tile;
  Value depth, steps, rowPanels, columnPanels;
  Value blockRows, blockColumns, rowBlocks, columnBlocks;
  Task task;
};
} // namespace

void Blocked::chooseBlocks() {
  depth = contraction.groups[Depth].total;
  // A sum of nothing is stored, too.
  steps = e.max(e.ceilDiv(depth, target.depth), e.index(1));
  rowPanels = e.ceilDiv(contraction.groups[Rows].total, shape.rows);
  columnPanels = e.ceilDiv(contraction.groups[Columns].total, shape.columns());
  auto split = [&](Value panels, Value wanted, Value &size, Value &count) {
    size = e.max(e.ceilDiv(panels, e.max(wanted, e.index(1))), e.index(1));
    count = e.ceilDiv(panels, size);
  };
  split(rowPanels, e.ceilDiv(rowPanels, target.blockRows / shape.rows),
        blockRows, rowBlocks);
  // So many tasks that threads find something to do, however long one takes.
  Value others =
      e.max(e.mul(contraction.groups[Batch].total, rowBlocks), e.index(1));
  Value wanted =
      e.max(e.ceilDiv(columnPanels, target.blockColumns / shape.columns()),
            e.ceilDiv(e.index(8), others));
  split(columnPanels, wanted, blockColumns, columnBlocks);
}

/// All rows: [step][panel][depth][row], the last step's depth padded.
Value Blocked::packRows() {
  Value padded = e.mul(e.ceilDiv(depth, shape.lanes), shape.lanes);
  Value size = e.mul(rowPanels, shape.rows);
  Value packed = e.allocate(e.mul(size, padded), shape.element);
  rows.enterBatch(e, e.index(0));
  e.parallel(rowPanels, [&](Value panel) {
    e.loop(steps, [&](Value step) {
      Value first = e.mul(step, target.depth);
      Value count = e.min(e.sub(depth, first), e.index(target.depth));
      Value pitch = e.mul(e.ceilDiv(count, shape.lanes), shape.lanes);
      Value at =
          e.add(e.mul(first, size), e.mul(panel, e.mul(pitch, shape.rows)));
      rows.pack(e, e.mul(panel, shape.rows), first, count, packed, at);
    });
  });
  return packed;
}

Value Blocked::getScratch(int slot, Value count) {
  int64_t bytes = shape.element.getIntOrFloatBitWidth() / 8;
  Value memory = ScratchOp::create(
      e, MemRefType::get({ShapedType::kDynamic}, e.getI8Type()),
      e.mul(count, bytes), e.getI32IntegerAttr(slot));
  return memref::ViewOp::create(
      e, MemRefType::get({ShapedType::kDynamic}, shape.element), memory,
      e.index(0), ValueRange{count});
}

void Blocked::emitTask(Value number, Value packedRows) {
  Value columnBlock = e.rem(number, columnBlocks);
  Value rest = e.div(number, columnBlocks);
  Value rowBlock = e.rem(rest, rowBlocks);
  Value batch = e.div(rest, rowBlocks);
  columns.enterBatch(e, batch);
  output.enterBatch(e, batch);
  task.firstRowPanel = e.mul(rowBlock, blockRows);
  task.rowPanels = e.min(blockRows, e.sub(rowPanels, task.firstRowPanel));
  task.firstColumnPanel = e.mul(columnBlock, blockColumns);
  task.columnPanels =
      e.min(blockColumns, e.sub(columnPanels, task.firstColumnPanel));
  task.packedColumns =
      getScratch(0, e.mul(blockColumns, target.depth * shape.columns()));
  task.packedRows = packedRows;
  if (isBatched()) {
    rows.enterBatch(e, batch);
    task.packedRows =
        getScratch(1, e.mul(blockRows, target.depth * shape.rows));
  }
  // With one step, sums go from the registers to the output at once.
  Value kept = arith::SelectOp::create(
      e, e.less(e.index(1), steps), e.mul(blockRows, blockColumns), e.index(1));
  task.sums = getScratch(2, e.mul(kept, shape.size()));
  e.loop(steps, [&](Value step) { emitStep(step); });
}

void Blocked::emitStep(Value step) {
  Value first = e.mul(step, target.depth);
  Value count = e.min(e.sub(depth, first), e.index(target.depth));
  Value pitch = e.mul(e.ceilDiv(count, shape.lanes), shape.lanes);
  Value rowPitch = e.mul(pitch, shape.rows);
  Value columnPitch = e.mul(pitch, shape.columns());
  Value rowPlace = e.index(0);
  e.loop(task.columnPanels, [&](Value panel) {
    Value column = e.add(task.firstColumnPanel, panel);
    columns.pack(e, e.mul(column, shape.columns()), first, count,
                 task.packedColumns, e.mul(panel, columnPitch));
  });
  if (isBatched())
    e.loop(task.rowPanels, [&](Value panel) {
      Value row = e.add(task.firstRowPanel, panel);
      rows.pack(e, e.mul(row, shape.rows), first, count, task.packedRows,
                e.mul(panel, rowPitch));
    });
  else
    rowPlace = e.add(e.mul(first, e.mul(rowPanels, shape.rows)),
                     e.mul(task.firstRowPanel, rowPitch));
  Value single = e.equal(steps, e.index(1));
  Value isFirst = e.equal(step, e.index(0));
  Value accumulate = arith::XOrIOp::create(
      e, isFirst, arith::ConstantOp::create(e, e.getBoolAttr(true)));
  Value isLast = e.equal(e.add(step, 1), steps);
  e.loop(task.columnPanels, [&](Value j) {
    e.loop(task.rowPanels, [&](Value i) {
      Value place = e.mul(e.add(e.mul(j, blockRows), i), shape.size());
      place = arith::SelectOp::create(e, single, e.index(0), place);
      func::CallOp::create(e, tile,
                           ValueRange{task.packedRows,
                                      e.add(rowPlace, e.mul(i, rowPitch)),
                                      task.packedColumns, e.mul(j, columnPitch),
                                      count, task.sums, place, accumulate});
      e.ifThen(isLast, [&] {
        Value row = e.mul(e.add(task.firstRowPanel, i), shape.rows);
        Value column = e.mul(e.add(task.firstColumnPanel, j), shape.columns());
        output.store(e, row, column, task.sums, place);
      });
    });
  });
}

void Blocked::emit() {
  chooseBlocks();
  Value packedRows;
  if (!isBatched())
    packedRows = packRows();
  Value tasks =
      e.mul(e.mul(contraction.groups[Batch].total, rowBlocks), columnBlocks);
  e.parallel(tasks, [&](Value number) { emitTask(number, packedRows); });
  if (packedRows)
    memref::DeallocOp::create(e, packedRows);
  contraction.release(e);
}

void emitBlocked(Emitter &e, ContractOp op, const KernelTarget &target) {
  Blocked(e, op, target).emit();
}

} // namespace mp::kernel
