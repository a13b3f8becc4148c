//===- Blocked.cpp - Blocks of a contraction ------------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The output is cut into blocks, which are the tasks of one parallel loop. A
// task goes through the summed dimension in steps: it packs a panel of its
// columns for one step, which stays in the caches, and multiplies it by its
// rows, panel by panel. Sums between steps are kept in f32 in memory of the
// thread, so that every element is summed up in one order whatever runs where;
// sums of few terms, which take one step, go from registers to the output.
// Rows that are lines of what is summed up are read where they are. Others are
// packed once, ahead of all tasks; where there are batches, by each task for
// itself. If that is more than caches hold, as in gradients of weights that are
// sums over all pixels of all images, the summed dimension is gone through in
// slabs: rows of one are packed, and all tasks add its products. An operand
// that is a constant of the model is packed by the first call, for all that
// follow.
//
//===----------------------------------------------------------------------===//

#include "Blocked.h"
#include "Tile.h"

#include "mlir/IR/TypeUtilities.h"

using namespace mlir;

namespace mp::kernel {

namespace {
class Blocked {
public:
  Blocked(LoopBuilder &e, ContractOp op)
      : e(e), config(*op.getConfig()), contraction(e, op),
        shape(contraction.shape, config),
        rows(e, contraction, contraction.shape.lhs, M, shape.rowFormat,
             config.getLhs() != Packing::MNMajor),
        columns(e, contraction, contraction.shape.rhs, N, shape.columnFormat,
                config.getRhs() == Packing::KMajor),
        output(e, contraction, shape),
        keepsRows(config.getCached() == Cached::LHS),
        keepsColumns(config.getCached() == Cached::RHS) {}

  void emit();

private:
  /// Panels of rows that are multiplied before their sums are stored: one, so
  /// that lines of the output are not all asked for at once; some where a call
  /// has tile registers to set up.
  int64_t stripLength() const {
    return shape.products == Products::AMX ? 4 : 1;
  }
  void chooseBlocks();
  /// All panels of an operand: [step][panel][depth][lane], the last step's
  /// depth padded.
  struct Panels {
    Side &side;
    const PanelFormat &format;
    Value count;
  };
  Value getSize(const Panels &panels, Value steps);
  void packSteps(const Panels &panels, Value firstStep, Value count,
                 Value packed);
  Value packOnce(const Panels &panels) {
    return makeOnce(
        e, contraction.op, getSize(panels, steps), panels.format.element, [&] {
          Value packed =
              e.allocate(getSize(panels, steps), panels.format.element);
          packSteps(panels, e.index(0), steps, packed);
          return packed;
        });
  }
  bool packsRowsAhead() {
    return !contraction.shape.isBatched() && !keepsRows && !shape.rowsInPlace;
  }
  bool packsRowsInTasks() {
    return contraction.shape.isBatched() && !shape.rowsInPlace;
  }
  /// Where those for the depths from `first` on begin.
  Value getPlace(const Panels &panels, Value first, Value panel, Value pitch) {
    Value width = e.mul(panels.count, panels.format.width);
    return e.add(e.mul(first, width), e.mul(panel, pitch));
  }
  Panels allRows() { return {rows, shape.rowFormat, rowPanels}; }
  Panels allColumns() { return {columns, shape.columnFormat, columnPanels}; }
  void emitTask(Value task);
  void emitSlabs(Value tasks);
  void emitStep(Value step);
  void locateColumns(Value panel, Value step, Value count, Strip &strip);
  Value locateRows(Value step, Value count);
  void enterRows(Value panel, Value place, Strip &strip);
  void emitStrips(Value column, Value place, Value step, Value count);
  void emitInRegisters(ArrayRef<TileStore::Vector> vectors, Value firstColumn,
                       Strip strip, Value rowPlace);
  void emitThroughMemory(Value column, Strip strip, Value rowPlace, Value step);

  /// What the steps of a task share.
  struct Task {
    Value firstRowPanel, rowPanels, firstColumnPanel, columnPanels;
    Value rows, packedColumns, sums, firstSum;
  };

  LoopBuilder &e;
  ConfigAttr config;
  Contraction contraction;
  TileShape shape;
  Side rows, columns;
  TileStore output;
  Value depth, steps, rowPanels, columnPanels;
  /// Elements of the summed dimension in a step.
  Value stepDepth;
  /// Steps for which rows are packed ahead of all tasks.
  Value slabs, slabSteps;
  /// The steps of the tasks, and where their sums are kept between slabs.
  Value firstStep, lastStep, slabSums;
  Value blockRows, blockColumns, rowBlocks, columnBlocks;
  /// What outlasts a call.
  bool keepsRows, keepsColumns;
  /// What tasks share.
  Value packedRows, packedColumns;
  Task task;
};
} // namespace

void Blocked::chooseBlocks() {
  depth = contraction.groups[K].total;
  // Columns that are kept are packed the same way for any number of rows.
  Value isDeep;
  if (shape.products == Products::AMX && !keepsColumns)
    isDeep = arith::AndIOp::create(
        e, e.less(e.index(config.getKc()), depth),
        e.less(e.index(config.getDeepMc() - 1), contraction.groups[M].total));
  auto choose = [&](int64_t usually, int64_t ifDeep) -> Value {
    if (!isDeep)
      return e.index(usually);
    return arith::SelectOp::create(e, isDeep, e.index(ifDeep),
                                   e.index(usually));
  };
  auto choosePanels = [&](int64_t usually, int64_t ifDeep, int64_t width) {
    return choose(std::max(usually / width, int64_t(1)),
                  std::max(ifDeep / width, int64_t(1)));
  };
  stepDepth = choose(config.getKc(), config.getDeepKc());
  // A sum of nothing is stored, too.
  steps = e.max(e.ceilDiv(depth, stepDepth), e.index(1));
  rowPanels = e.ceilDiv(contraction.groups[M].total, shape.rows);
  columnPanels = e.ceilDiv(contraction.groups[N].total, shape.columns());
  auto split = [&](Value panels, Value wanted, Value &size, Value &count) {
    size = e.max(e.ceilDiv(panels, e.max(wanted, e.index(1))), e.index(1));
    count = e.ceilDiv(panels, size);
  };
  Value mostRows = choosePanels(config.getMc(), config.getDeepMc(), shape.rows);
  split(rowPanels, e.ceilDiv(rowPanels, mostRows), blockRows, rowBlocks);
  // So many tasks that threads find something to do, however long one takes.
  Value others =
      e.max(e.mul(contraction.groups[Batch].total, rowBlocks), e.index(1));
  Value mostColumns =
      choosePanels(config.getNc(), config.getDeepNc(), shape.columns());
  Value wanted = e.max(e.ceilDiv(columnPanels, mostColumns),
                       e.ceilDiv(e.index(8), others));
  split(columnPanels, wanted, blockColumns, columnBlocks);
  slabs = e.index(1);
  slabSteps = steps;
  if (!packsRowsAhead())
    return;
  // So that rows of a slab stay in the second cache, and all sums in the third.
  constexpr int64_t mostBytes = 2 << 20, mostSums = 1 << 20;
  int64_t bytes = shape.rowFormat.element.getIntOrFloatBitWidth() / 8;
  Value rowBytes = e.mul(e.mul(rowPanels, stepDepth), shape.rows * bytes);
  Value sums = e.mul(e.mul(rowPanels, columnPanels), shape.size());
  Value wantedSlabs =
      arith::SelectOp::create(e, e.less(e.index(mostSums), sums), e.index(1),
                              e.ceilDiv(e.mul(rowBytes, steps), mostBytes));
  split(steps, wantedSlabs, slabSteps, slabs);
}

Value Blocked::getSize(const Panels &panels, Value steps) {
  int64_t chunk = panels.format.chunk();
  Value most = e.min(depth, e.mul(steps, stepDepth));
  return e.mul(e.mul(panels.count, panels.format.width),
               e.mul(e.ceilDiv(most, chunk), chunk));
}

/// Panels that are packed at once, the `group`-th ones of so many; behind the
/// last one it comes again. `place` tells where one begins.
static SmallVector<Side::Place> getGroup(LoopBuilder &e, Side &side,
                                         int64_t width, Value group,
                                         Value first, Value count,
                                         function_ref<Value(Value)> place) {
  SmallVector<Side::Place> places;
  Value begin = e.mul(group, side.getNumTogether());
  for (int64_t i = 0; i < side.getNumTogether(); ++i) {
    Value panel = e.add(begin, i);
    if (i > 0)
      panel = e.min(panel, e.sub(count, e.index(1)));
    places.push_back({e.mul(e.add(first, panel), width), place(panel)});
  }
  return places;
}

/// Panels for `count` steps from `firstStep` on.
void Blocked::packSteps(const Panels &panels, Value firstStep, Value count,
                        Value packed) {
  const PanelFormat &format = panels.format;
  Side &side = panels.side;
  side.enterBatch(e, e.index(0));
  Value groups = e.ceilDiv(panels.count, side.getNumTogether());
  e.parallel(groups, [&](Value group) {
    e.loop(count, [&](Value step) {
      Value first = e.mul(e.add(firstStep, step), stepDepth);
      Value size = e.min(e.sub(depth, first), stepDepth);
      auto locate = [&](Value panel) {
        return getPlace(panels, e.mul(step, stepDepth), panel,
                        format.getSize(e, size));
      };
      auto places = getGroup(e, side, format.width, group, e.index(0),
                             panels.count, locate);
      side.pack(e, places, first, size, packed);
    });
  });
}

void Blocked::emitTask(Value number) {
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
  Value deepest = e.min(depth, stepDepth);
  if (!shape.columnsInPlace && !keepsColumns)
    task.packedColumns = e.scratch(0, shape.columnFormat.getSize(e, deepest),
                                   shape.columnFormat.element);
  task.rows = packedRows;
  if (packsRowsInTasks() || shape.rowsInPlace)
    rows.enterBatch(e, batch);
  if (packsRowsInTasks())
    task.rows =
        e.scratch(1, e.mul(blockRows, shape.rowFormat.getSize(e, deepest)),
                  shape.rowFormat.element);
  else if (shape.rowsInPlace)
    task.rows = rows.getMemory();
  // With one step, sums of a strip are stored before the next one's.
  Value kept = arith::SelectOp::create(e, e.less(e.index(1), steps),
                                       e.mul(blockRows, blockColumns),
                                       e.index(stripLength()));
  Value size = e.mul(kept, shape.size());
  auto getScratch = [&] { return e.scratch(2, size, shape.element); };
  task.firstSum = e.index(0);
  if (slabSums) {
    Value isSlabbed = e.less(e.index(1), slabs);
    task.firstSum = arith::SelectOp::create(e, isSlabbed, e.mul(number, size),
                                            task.firstSum);
    task.sums = e.choose(
        isSlabbed, slabSums.getType(), [&] { return slabSums; }, getScratch);
  } else {
    task.sums = getScratch();
  }
  e.loop(firstStep, lastStep, 1, [&](Value step) { emitStep(step); });
}

/// Where the task's rows for `count` depths are; packs them if that has not
/// been done.
Value Blocked::locateRows(Value step, Value count) {
  Value first = e.mul(step, stepDepth);
  if (shape.rowsInPlace)
    return e.add(rows.getPlace(e, e.mul(task.firstRowPanel, shape.rows)),
                 first);
  Value pitch = shape.rowFormat.getSize(e, count);
  if (!packsRowsInTasks())
    return getPlace(allRows(), e.mul(e.sub(step, firstStep), stepDepth),
                    task.firstRowPanel, pitch);
  e.loop(e.ceilDiv(task.rowPanels, rows.getNumTogether()), [&](Value group) {
    auto places =
        getGroup(e, rows, shape.rows, group, task.firstRowPanel, task.rowPanels,
                 [&](Value i) { return e.mul(i, pitch); });
    rows.pack(e, places, first, count, task.rows);
  });
  return e.index(0);
}

void Blocked::emitStep(Value step) {
  Value first = e.mul(step, stepDepth);
  Value count = e.min(e.sub(depth, first), stepDepth);
  Value rowPlace = locateRows(step, count);
  e.loop(task.columnPanels,
         [&](Value j) { emitStrips(j, rowPlace, step, count); });
}

/// Where a panel of columns for `count` depths is; packs it if that has not
/// been done.
void Blocked::locateColumns(Value panel, Value step, Value count,
                            Strip &strip) {
  Value firstColumn = e.mul(panel, shape.columns());
  Value firstDepth = e.mul(step, stepDepth);
  strip.depth = count;
  strip.width = e.sub(contraction.groups[N].total, firstColumn);
  if (shape.columnsInPlace) {
    strip.columns = columns.getMemory();
    strip.columnPlace = columns.getPlace(e, firstColumn);
    strip.offsets = columns.getDepthOffsets();
    strip.firstDepth = firstDepth;
  } else if (keepsColumns) {
    strip.columns = packedColumns;
    strip.columnPlace = getPlace(allColumns(), firstDepth, panel,
                                 shape.columnFormat.getSize(e, count));
  } else {
    strip.columns = task.packedColumns;
    strip.columnPlace = e.index(0);
    columns.pack(e, Side::Place{firstColumn, strip.columnPlace}, firstDepth,
                 count, strip.columns);
  }
}

/// The rows of the task's panels from `panel` on, whose first is at `place`.
void Blocked::enterRows(Value panel, Value place, Strip &strip) {
  Value offset = e.mul(panel, strip.rowPitch);
  if (shape.rowsInPlace) {
    offset = e.mul(offset, shape.rows);
    Value first = e.mul(e.add(task.firstRowPanel, panel), shape.rows);
    strip.height = e.sub(contraction.groups[M].total, first);
  }
  strip.rowPlace = e.add(place, offset);
}

/// Multiplies a panel of columns by all rows of the task, and stores the sums
/// if this is the last step.
void Blocked::emitStrips(Value j, Value rowPlace, Value step, Value count) {
  Value firstColumn = e.mul(e.add(task.firstColumnPanel, j), shape.columns());
  Strip strip;
  strip.rows = task.rows;
  strip.rowPitch =
      shape.rowsInPlace ? rows.getPitch() : shape.rowFormat.getSize(e, count);
  locateColumns(e.add(task.firstColumnPanel, j), step, count, strip);
  auto throughMemory = [&] { emitThroughMemory(j, strip, rowPlace, step); };
  if (config.getStore() == Store::Memory)
    return throughMemory();
  auto vectors = output.getVectors(e, firstColumn);
  Value areRuns;
  for (const TileStore::Vector &vector : vectors)
    if (vector.isRun)
      areRuns =
          areRuns ? arith::AndIOp::create(e, areRuns, vector.isRun).getResult()
                  : vector.isRun;
  auto inRegisters = [&] {
    emitInRegisters(vectors, firstColumn, strip, rowPlace);
  };
  if (areRuns)
    e.ifElse(areRuns, inRegisters, throughMemory);
  else
    inRegisters();
}

/// Sums of one step, which are results.
void Blocked::emitInRegisters(ArrayRef<TileStore::Vector> vectors,
                              Value firstColumn, Strip strip, Value rowPlace) {
  strip.count = e.index(1);
  e.loop(task.rowPanels, [&](Value i) {
    enterRows(i, rowPlace, strip);
    Value firstRow = e.mul(e.add(task.firstRowPanel, i), shape.rows);
    output.prefetch(e, firstRow, firstColumn, e.index(shape.rows));
    emitStrip(e, shape, strip, [&](Value, int64_t count, ValueRange sums) {
      output.store(e, firstRow, vectors.take_front(count), sums);
    });
  });
}

/// Sums that later steps add to, or that are stored one row after the other.
void Blocked::emitThroughMemory(Value j, Strip strip, Value rowPlace,
                                Value step) {
  Value firstColumn = e.mul(e.add(task.firstColumnPanel, j), shape.columns());
  Value single = e.equal(steps, e.index(1));
  Value isLast = e.equal(e.add(step, 1), steps);
  auto module = contraction.op->getParentOfType<ModuleOp>();
  strip.sums = task.sums;
  strip.accumulate = e.less(e.index(0), step);
  e.loop(e.index(0), task.rowPanels, stripLength(), [&](Value i) {
    Value place = e.mul(e.add(e.mul(j, blockRows), i), shape.size());
    strip.sumPlace = arith::SelectOp::create(e, single, e.index(0),
                                             e.add(task.firstSum, place));
    enterRows(i, rowPlace, strip);
    strip.count = e.min(e.sub(task.rowPanels, i), e.index(stripLength()));
    Value firstRow = e.mul(e.add(task.firstRowPanel, i), shape.rows);
    e.ifThen(isLast, [&] {
      output.prefetch(e, firstRow, firstColumn, e.mul(strip.count, shape.rows));
    });
    emitStrip(e, module, shape, strip);
    e.ifThen(isLast, [&] {
      e.loop(strip.count, [&](Value tile) {
        Value panel = e.add(task.firstRowPanel, e.add(i, tile));
        output.store(e, e.mul(panel, shape.rows), firstColumn, task.sums,
                     e.add(strip.sumPlace, e.mul(tile, shape.size())));
      });
    });
  });
}

void Blocked::emitSlabs(Value tasks) {
  Value isSlabbed = e.less(e.index(1), slabs);
  Value sums =
      e.mul(e.mul(tasks, e.mul(blockRows, blockColumns)), shape.size());
  sums = arith::SelectOp::create(e, isSlabbed, sums, e.index(0));
  slabSums = e.allocate(sums, shape.element);
  packedRows =
      e.allocate(getSize(allRows(), slabSteps), shape.rowFormat.element);
  e.loop(slabs, [&](Value slab) {
    firstStep = e.mul(slab, slabSteps);
    lastStep = e.min(steps, e.add(firstStep, slabSteps));
    packSteps(allRows(), firstStep, e.sub(lastStep, firstStep), packedRows);
    e.parallel(tasks, [&](Value number) { emitTask(number); });
  });
  memref::DeallocOp::create(e, packedRows);
  memref::DeallocOp::create(e, slabSums);
}

void Blocked::emit() {
  chooseBlocks();
  if (keepsRows)
    packedRows = packOnce(allRows());
  if (keepsColumns)
    packedColumns = packOnce(allColumns());
  Value tasks =
      e.mul(e.mul(contraction.groups[Batch].total, rowBlocks), columnBlocks);
  firstStep = e.index(0);
  lastStep = steps;
  if (packsRowsAhead())
    emitSlabs(tasks);
  else
    e.parallel(tasks, [&](Value number) { emitTask(number); });
  contraction.release(e);
}

void emitBlocked(LoopBuilder &e, ContractOp op) { Blocked(e, op).emit(); }

} // namespace mp::kernel
