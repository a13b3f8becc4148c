//===- Blocked.cpp - Blocks of a contraction ------------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The output is cut into blocks of MC x NC, which are the tasks of one parallel
// loop. A task goes through K in steps of KC: it packs a micro-panel of the RHS
// for one step, which stays in the caches, and multiplies it by the LHS,
// micro-panel by micro-panel. Sums between steps are kept in f32 in memory of
// the thread: every element is summed up in the same order, whichever thread
// does it. Sums of few terms, which take one step, go from registers to the
// output. The sums of a last panel with a few columns are along vectors of K.
// If there are few columns in all, they are packed before all tasks. An LHS
// whose rows are lines of K is read in place. Others are packed once, before
// all tasks; if there are batches, each task packs its own part. If that is
// more than caches hold, as in gradients of weights that are sums over all
// pixels of all images, K is divided into blocks: the LHS of one is packed, and
// all tasks add its products. An operand that is a constant of the model is
// packed by the first call, for all later ones.
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
        rows(e, padRows(), contraction.shape.lhs, M, shape.lhsFormat,
             config.getLhs() != Packing::MNMajor),
        columns(e, contraction, contraction.shape.rhs, N, shape.rhsFormat,
                config.getRhs() == Packing::KMajor),
        tailFormat(getTailFormat(shape, config.getTail())),
        output(e, contraction, shape),
        keepsLHS(config.getCached() == Cached::LHS),
        keepsRHS(config.getCached() == Cached::RHS) {
    if (config.getTail() > 0)
      tail.emplace(e, contraction, contraction.shape.rhs, N, tailFormat,
                   config.getRhs() == Packing::KMajor);
  }

  void emit();

private:
  /// The number of panels of rows that are multiplied before their sums are
  /// stored: one, to spread the prefetches of the output's lines; several if a
  /// call has tile registers to set up.
  int64_t getPanelsPerProduct() const {
    return shape.products == Products::AMX ? 4 : 1;
  }
  /// Rows in place need the padding of their image in memory.
  Contraction &padRows() {
    if (shape.lhsInPlace)
      contraction.pad(e, contraction.shape.lhs);
    return contraction;
  }
  void chooseBlocks();
  /// All panels of an operand: [batch][step][panel][depth][lane], the last
  /// step's depth padded.
  struct Panels {
    PackedOperand &source;
    const PanelFormat &format;
    Value count;
  };
  Value getSize(const Panels &panels, Value steps);
  void packSteps(const Panels &panels, Value firstStep, Value count,
                 Value packed);
  Value packOnce(const Panels &panels) {
    Value size = e.mul(contraction.groups[Batch].total, getSize(panels, steps));
    return makeOnce(e, contraction.op, size, panels.format.element, [&] {
      Value packed = e.allocate(size, panels.format.element);
      packSteps(panels, e.index(0), steps, packed);
      return packed;
    });
  }
  bool packsLHSAhead() {
    return !contraction.shape.isBatched() && !keepsLHS && !shape.lhsInPlace;
  }
  bool packsLHSInTasks() {
    return contraction.shape.isBatched() && !keepsLHS && !shape.lhsInPlace;
  }
  /// The offset of `panel` among the panels for the depths from `first` on.
  Value getOffset(const Panels &panels, Value first, Value panel, Value pitch) {
    Value width = e.mul(panels.count, panels.format.width);
    return e.add(e.mul(first, width), e.mul(panel, pitch));
  }
  Panels getLHSPanels() { return {rows, shape.lhsFormat, lhsPanels}; }
  Panels getRHSPanels() { return {columns, shape.rhsFormat, rhsPanels}; }
  bool packsRHSAhead() { return config.getRhsAhead(); }
  /// True if a panel is the tail, which is packed in another format.
  Value isTail(Value panel) {
    Value left = e.sub(contraction.groups[N].total, e.mul(panel, shape.nr()));
    return e.equal(left, e.index(config.getTail()));
  }
  void packColumnsAhead();
  void emitTask(Value task);
  void emitKBlocks(Value tasks);
  void emitStep(Value step);
  void locateRHS(Value panel, Value step, Value count, PanelProduct &product);
  void locateTail(Value panel, Value step, Value count, PanelProduct &product);
  Value locateLHS(Value step, Value count);
  void enterLHS(Value panel, Value place, PanelProduct &product);
  void emitPanelProducts(Value column, Value place, Value step, Value count);
  void emitWholePanel(Value column, PanelProduct product, Value rowOffset,
                      Value step, Value count);
  void emitInRegisters(ArrayRef<TileStore::Vector> vectors, Value firstColumn,
                       PanelProduct product, Value rowOffset);
  void emitThroughMemory(Value column, PanelProduct product, Value rowOffset,
                         Value step, bool isTail = false);

  /// State that the steps of a task share.
  struct Task {
    Value firstLHSPanel, lhsPanels, firstRHSPanel, rhsPanels;
    Value rows, packedRHS, sums, firstSum;
    /// The begin of the batch of an operand that is kept.
    Value firstPacked;
  };

  LoopBuilder &e;
  ConfigAttr config;
  Contraction contraction;
  TileShape shape;
  PackedOperand rows, columns;
  PanelFormat tailFormat;
  std::optional<PackedOperand> tail;
  TileStore output;
  Value depth, steps, lhsPanels, rhsPanels;
  /// Elements of the summed dimension in a step.
  Value kc;
  /// The number of blocks of K, and the steps of one, whose rows are packed
  /// before all tasks.
  Value kBlocks, kBlockSteps;
  /// The steps of the tasks, and the sums' memory between blocks of K.
  Value firstStep, lastStep, kBlockSums;
  Value blockLHSPanels, blockRHSPanels, mBlocks, nBlocks;
  /// True for operands whose panels outlast a call.
  bool keepsLHS, keepsRHS;
  /// Memory that tasks share.
  Value packedLHS, packedRHS, packedTail;
  Task task;
};
} // namespace

void Blocked::chooseBlocks() {
  depth = contraction.groups[K].total;
  // Columns that are cached are packed the same way for any number of rows.
  Value isDeep;
  if (shape.products == Products::AMX && !keepsRHS)
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
  kc = choose(config.getKc(), config.getDeepKc());
  // An empty sum is stored, too.
  steps = e.max(e.ceilDiv(depth, kc), e.index(1));
  lhsPanels = e.ceilDiv(contraction.groups[M].total, shape.mr);
  rhsPanels = e.ceilDiv(contraction.groups[N].total, shape.nr());
  auto split = [&](Value panels, Value wanted, Value &size, Value &count) {
    size = e.max(e.ceilDiv(panels, e.max(wanted, e.index(1))), e.index(1));
    count = e.ceilDiv(panels, size);
  };
  Value maxLHSPanels =
      choosePanels(config.getMc(), config.getDeepMc(), shape.mr);
  Value maxRHSPanels =
      choosePanels(config.getNc(), config.getDeepNc(), shape.nr());
  // Enough tasks for all threads, even if some take long: they divide rows if
  // all columns are packed before, else columns.
  constexpr int64_t minTasks = 8, minRows = 32;
  Value wantedM = e.ceilDiv(lhsPanels, maxLHSPanels);
  Value wantedN = e.ceilDiv(rhsPanels, maxRHSPanels);
  if (packsRHSAhead())
    wantedM = e.max(wantedM,
                    e.min(e.index(minTasks),
                          e.div(e.mul(lhsPanels, shape.mr), e.index(minRows))));
  split(lhsPanels, wantedM, blockLHSPanels, mBlocks);
  if (!packsRHSAhead()) {
    Value others =
        e.max(e.mul(contraction.groups[Batch].total, mBlocks), e.index(1));
    wantedN = e.max(wantedN, e.ceilDiv(e.index(minTasks), others));
  }
  split(rhsPanels, wantedN, blockRHSPanels, nBlocks);
  kBlocks = e.index(1);
  kBlockSteps = steps;
  if (!packsLHSAhead())
    return;
  // The LHS of a block of K must fit the second cache, and all sums the third.
  constexpr int64_t maxBytes = 2 << 20, maxSums = 1 << 20;
  int64_t bytes = shape.lhsFormat.element.getIntOrFloatBitWidth() / 8;
  Value rowBytes = e.mul(e.mul(lhsPanels, kc), shape.mr * bytes);
  Value sums = e.mul(e.mul(lhsPanels, rhsPanels), shape.size());
  Value wantedKBlocks =
      arith::SelectOp::create(e, e.less(e.index(maxSums), sums), e.index(1),
                              e.ceilDiv(e.mul(rowBytes, steps), maxBytes));
  split(steps, wantedKBlocks, kBlockSteps, kBlocks);
}

Value Blocked::getSize(const Panels &panels, Value steps) {
  int64_t chunk = panels.format.chunk();
  Value most = e.min(depth, e.mul(steps, kc));
  return e.mul(e.mul(panels.count, panels.format.width),
               e.mul(e.ceilDiv(most, chunk), chunk));
}

/// The `group`-th panels that are packed at once; the last panel replaces those
/// after it. `locate` returns the begin of a panel.
static SmallVector<PackedOperand::PanelStart>
getGroup(LoopBuilder &e, PackedOperand &source, int64_t width, Value group,
         Value first, Value count, function_ref<Value(Value)> locate) {
  SmallVector<PackedOperand::PanelStart> starts;
  Value begin = e.mul(group, source.getNumTogether());
  for (int64_t i = 0; i < source.getNumTogether(); ++i) {
    Value panel = e.add(begin, i);
    if (i > 0)
      panel = e.min(panel, e.sub(count, e.index(1)));
    starts.push_back({e.mul(e.add(first, panel), width), locate(panel)});
  }
  return starts;
}

/// Packs panels of all batches for `count` steps from `firstStep` on.
void Blocked::packSteps(const Panels &panels, Value firstStep, Value count,
                        Value packed) {
  const PanelFormat &format = panels.format;
  PackedOperand &source = panels.source;
  Value groups = e.ceilDiv(panels.count, source.getNumTogether());
  Value tasks = e.mul(contraction.groups[Batch].total, groups);
  e.parallel(tasks, [&](Value number) {
    Value batch = e.div(number, groups), group = e.rem(number, groups);
    Value base = e.mul(batch, getSize(panels, count));
    source.enterBatch(e, batch);
    e.loop(count, [&](Value step) {
      Value first = e.mul(e.add(firstStep, step), kc);
      Value size = e.min(e.sub(depth, first), kc);
      auto locate = [&](Value panel) {
        return e.add(base, getOffset(panels, e.mul(step, kc), panel,
                                     format.getSize(e, size)));
      };
      auto starts = getGroup(e, source, format.width, group, e.index(0),
                             panels.count, locate);
      source.pack(e, starts, first, size, packed);
    });
  });
}

void Blocked::emitTask(Value number) {
  Value columnBlock = e.rem(number, nBlocks);
  Value rest = e.div(number, nBlocks);
  Value rowBlock = e.rem(rest, mBlocks);
  Value batch = e.div(rest, mBlocks);
  columns.enterBatch(e, batch);
  if (tail)
    tail->enterBatch(e, batch);
  output.enterBatch(e, batch);
  task.firstLHSPanel = e.mul(rowBlock, blockLHSPanels);
  task.lhsPanels = e.min(blockLHSPanels, e.sub(lhsPanels, task.firstLHSPanel));
  task.firstRHSPanel = e.mul(columnBlock, blockRHSPanels);
  task.rhsPanels = e.min(blockRHSPanels, e.sub(rhsPanels, task.firstRHSPanel));
  Value deepest = e.min(depth, kc);
  if (!shape.rhsInPlace && !keepsRHS && !packsRHSAhead())
    task.packedRHS = e.scratch(0, shape.rhsFormat.getSize(e, deepest),
                               shape.rhsFormat.element);
  task.firstPacked = e.index(0);
  if (keepsLHS || keepsRHS)
    task.firstPacked = e.mul(
        batch, getSize(keepsLHS ? getLHSPanels() : getRHSPanels(), steps));
  task.rows = packedLHS;
  if (packsLHSInTasks() || shape.lhsInPlace)
    rows.enterBatch(e, batch);
  if (packsLHSInTasks())
    task.rows =
        e.scratch(1, e.mul(blockLHSPanels, shape.lhsFormat.getSize(e, deepest)),
                  shape.lhsFormat.element);
  else if (shape.lhsInPlace)
    task.rows = rows.getMemory();
  // With one step, the sums of a panel product are stored before the next
  // product.
  Value kept = arith::SelectOp::create(e, e.less(e.index(1), steps),
                                       e.mul(blockLHSPanels, blockRHSPanels),
                                       e.index(getPanelsPerProduct()));
  Value size = e.mul(kept, shape.size());
  auto getScratch = [&] { return e.scratch(2, size, shape.element); };
  task.firstSum = e.index(0);
  if (kBlockSums) {
    Value isSplit = e.less(e.index(1), kBlocks);
    task.firstSum =
        arith::SelectOp::create(e, isSplit, e.mul(number, size), task.firstSum);
    task.sums = e.choose(
        isSplit, kBlockSums.getType(), [&] { return kBlockSums; }, getScratch);
  } else {
    task.sums = getScratch();
  }
  e.loop(firstStep, lastStep, 1, [&](Value step) { emitStep(step); });
}

/// Returns the offset of the task's rows for `count` depths, after packing them
/// if that has not been done.
Value Blocked::locateLHS(Value step, Value count) {
  Value first = e.mul(step, kc);
  if (shape.lhsInPlace)
    return rows.getBase();
  Value pitch = shape.lhsFormat.getSize(e, count);
  if (!packsLHSInTasks())
    return e.add(task.firstPacked,
                 getOffset(getLHSPanels(), e.mul(e.sub(step, firstStep), kc),
                           task.firstLHSPanel, pitch));
  e.loop(e.ceilDiv(task.lhsPanels, rows.getNumTogether()), [&](Value group) {
    auto starts =
        getGroup(e, rows, shape.mr, group, task.firstLHSPanel, task.lhsPanels,
                 [&](Value i) { return e.mul(i, pitch); });
    rows.pack(e, starts, first, count, task.rows);
  });
  return e.index(0);
}

void Blocked::emitStep(Value step) {
  Value first = e.mul(step, kc);
  Value count = e.min(e.sub(depth, first), kc);
  Value rowOffset = locateLHS(step, count);
  e.loop(task.rhsPanels,
         [&](Value j) { emitPanelProducts(j, rowOffset, step, count); });
}

/// Sets the memory of a panel of columns for `count` depths, after packing it
/// if that has not been done.
void Blocked::locateRHS(Value panel, Value step, Value count,
                        PanelProduct &product) {
  Value firstColumn = e.mul(panel, shape.nr());
  Value firstDepth = e.mul(step, kc);
  product.k = count;
  product.numColumns = e.sub(contraction.groups[N].total, firstColumn);
  if (shape.rhsInPlace) {
    product.rhs = columns.getMemory();
    product.rhsOffset = columns.getOffset(e, firstColumn);
    product.kOffsets = columns.getDepthOffsets();
    product.firstK = firstDepth;
  } else if (keepsRHS || packsRHSAhead()) {
    product.rhs = packedRHS;
    product.rhsOffset =
        e.add(task.firstPacked, getOffset(getRHSPanels(), firstDepth, panel,
                                          shape.rhsFormat.getSize(e, count)));
  } else {
    product.rhs = task.packedRHS;
    product.rhsOffset = e.index(0);
    columns.pack(e, PackedOperand::PanelStart{firstColumn, product.rhsOffset},
                 firstDepth, count, product.rhs);
  }
}

/// The same for the last panel.
void Blocked::locateTail(Value panel, Value step, Value count,
                         PanelProduct &product) {
  Value firstColumn = e.mul(panel, shape.nr());
  product.k = count;
  product.numColumns = e.index(config.getTail());
  if (packsRHSAhead()) {
    product.rhs = packedTail;
    product.rhsOffset = e.mul(e.mul(step, kc), config.getTail());
    return;
  }
  product.rhs =
      e.scratch(3, tailFormat.getSize(e, e.min(depth, kc)), tailFormat.element);
  product.rhsOffset = e.index(0);
  tail->pack(e, PackedOperand::PanelStart{firstColumn, product.rhsOffset},
             e.mul(step, kc), count, product.rhs);
}

/// Sets the rows of the task's panels from `panel` on, the first of which is at
/// `place`.
void Blocked::enterLHS(Value panel, Value place, PanelProduct &product) {
  if (!shape.lhsInPlace) {
    product.lhsOffset = e.add(place, e.mul(panel, product.lhsPitch));
    return;
  }
  product.lhsOffset = place;
  product.firstRow = e.mul(e.add(task.firstLHSPanel, panel), shape.mr);
  product.numRows = e.sub(contraction.groups[M].total, product.firstRow);
  product.ahead = e.index(-1);
  if (!keepsRHS && !packsRHSAhead())
    return;
  Value next = e.add(product.rhsOffset, shape.rhsFormat.getSize(e, product.k));
  Value part = e.mul(product.k, llvm::divideCeil(shape.nr(), prefetchParts));
  product.ahead =
      arith::SelectOp::create(e, e.less(panel, e.index(prefetchParts)),
                              e.add(next, e.mul(panel, part)), product.ahead);
}

/// Multiplies a panel of columns by all rows of the task, and stores the sums
/// if this is the last step.
void Blocked::emitPanelProducts(Value j, Value rowOffset, Value step,
                                Value count) {
  Value panel = e.add(task.firstRHSPanel, j);
  PanelProduct product;
  product.lhs = task.rows;
  product.lhsPitch = shape.lhsFormat.getSize(e, count);
  if (shape.lhsInPlace) {
    product.rowOffsets = rows.getLaneOffsets();
    product.depthOffsets = rows.getDepthOffsets();
    product.firstDepth = e.mul(step, kc);
  }
  auto whole = [&] { emitWholePanel(j, product, rowOffset, step, count); };
  if (!tail)
    return whole();
  e.ifElse(
      isTail(panel),
      [&] {
        PanelProduct ofTail = product;
        locateTail(panel, step, count, ofTail);
        emitThroughMemory(j, ofTail, rowOffset, step, /*isTail=*/true);
      },
      whole);
}

void Blocked::emitWholePanel(Value j, PanelProduct product, Value rowOffset,
                             Value step, Value count) {
  Value panel = e.add(task.firstRHSPanel, j);
  Value firstColumn = e.mul(panel, shape.nr());
  locateRHS(panel, step, count, product);
  auto throughMemory = [&] { emitThroughMemory(j, product, rowOffset, step); };
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
    emitInRegisters(vectors, firstColumn, product, rowOffset);
  };
  if (areRuns)
    e.ifElse(areRuns, inRegisters, throughMemory);
  else
    inRegisters();
}

/// Computes sums of one step in registers, which are stored as results.
void Blocked::emitInRegisters(ArrayRef<TileStore::Vector> vectors,
                              Value firstColumn, PanelProduct product,
                              Value rowOffset) {
  product.count = e.index(1);
  e.loop(task.lhsPanels, [&](Value i) {
    enterLHS(i, rowOffset, product);
    Value firstRow = e.mul(e.add(task.firstLHSPanel, i), shape.mr);
    output.prefetch(e, firstRow, firstColumn, e.index(shape.mr));
    emitPanelProduct(
        e, shape, product, [&](Value, int64_t count, ValueRange sums) {
          output.store(e, firstRow, vectors.take_front(count), sums);
        });
  });
}

/// Computes sums that later steps add to, or that are stored row by row.
void Blocked::emitThroughMemory(Value j, PanelProduct product, Value rowOffset,
                                Value step, bool isTail) {
  Value firstColumn = e.mul(e.add(task.firstRHSPanel, j), shape.nr());
  Value single = e.equal(steps, e.index(1));
  Value isLast = e.equal(e.add(step, 1), steps);
  auto module = contraction.op->getParentOfType<ModuleOp>();
  product.sums = task.sums;
  product.accumulate = e.less(e.index(0), step);
  e.loop(e.index(0), task.lhsPanels, getPanelsPerProduct(), [&](Value i) {
    Value place = e.mul(e.add(e.mul(j, blockLHSPanels), i), shape.size());
    product.sumOffset = arith::SelectOp::create(e, single, e.index(0),
                                                e.add(task.firstSum, place));
    enterLHS(i, rowOffset, product);
    product.count =
        e.min(e.sub(task.lhsPanels, i), e.index(getPanelsPerProduct()));
    Value firstRow = e.mul(e.add(task.firstLHSPanel, i), shape.mr);
    e.ifThen(isLast, [&] {
      output.prefetch(e, firstRow, firstColumn, e.mul(product.count, shape.mr));
    });
    if (isTail)
      emitTailProduct(e, module, shape, config.getTail(), product);
    else
      emitPanelProduct(e, module, shape, product);
    e.ifThen(isLast, [&] {
      e.loop(product.count, [&](Value tile) {
        Value panel = e.add(task.firstLHSPanel, e.add(i, tile));
        output.store(e, e.mul(panel, shape.mr), firstColumn, task.sums,
                     e.add(product.sumOffset, e.mul(tile, shape.size())));
      });
    });
  });
}

void Blocked::emitKBlocks(Value tasks) {
  Value isSplit = e.less(e.index(1), kBlocks);
  Value sums =
      e.mul(e.mul(tasks, e.mul(blockLHSPanels, blockRHSPanels)), shape.size());
  sums = arith::SelectOp::create(e, isSplit, sums, e.index(0));
  kBlockSums = e.allocate(sums, shape.element);
  packedLHS =
      e.allocate(getSize(getLHSPanels(), kBlockSteps), shape.lhsFormat.element);
  e.loop(kBlocks, [&](Value kBlock) {
    firstStep = e.mul(kBlock, kBlockSteps);
    lastStep = e.min(steps, e.add(firstStep, kBlockSteps));
    packSteps(getLHSPanels(), firstStep, e.sub(lastStep, firstStep), packedLHS);
    e.parallel(tasks, [&](Value number) { emitTask(number); });
  });
  memref::DeallocOp::create(e, packedLHS);
  memref::DeallocOp::create(e, kBlockSums);
}

/// Packs the columns of all steps in parallel.
void Blocked::packColumnsAhead() {
  packedRHS =
      e.allocate(getSize(getRHSPanels(), steps), shape.rhsFormat.element);
  columns.enterBatch(e, e.index(0));
  if (tail) {
    packedTail = e.allocate(tailFormat.getSize(e, depth), tailFormat.element);
    tail->enterBatch(e, e.index(0));
  }
  e.parallel(steps, [&](Value step) {
    Value first = e.mul(step, kc);
    Value count = e.min(e.sub(depth, first), kc);
    Value pitch = shape.rhsFormat.getSize(e, count);
    e.loop(rhsPanels, [&](Value panel) {
      Value firstColumn = e.mul(panel, shape.nr());
      auto packWhole = [&] {
        Value at = getOffset(getRHSPanels(), first, panel, pitch);
        columns.pack(e, PackedOperand::PanelStart{firstColumn, at}, first,
                     count, packedRHS);
      };
      auto packTail = [&] {
        Value at = e.mul(first, tailFormat.width);
        tail->pack(e, PackedOperand::PanelStart{firstColumn, at}, first, count,
                   packedTail);
      };
      if (tail)
        e.ifElse(isTail(panel), packTail, packWhole);
      else
        packWhole();
    });
  });
}

void Blocked::emit() {
  chooseBlocks();
  if (keepsLHS)
    packedLHS = packOnce(getLHSPanels());
  if (keepsRHS)
    packedRHS = packOnce(getRHSPanels());
  if (packsRHSAhead())
    packColumnsAhead();
  Value tasks = e.mul(e.mul(contraction.groups[Batch].total, mBlocks), nBlocks);
  firstStep = e.index(0);
  lastStep = steps;
  if (packsLHSAhead())
    emitKBlocks(tasks);
  else
    e.parallel(tasks, [&](Value number) { emitTask(number); });
  if (packsRHSAhead()) {
    memref::DeallocOp::create(e, packedRHS);
    if (tail)
      memref::DeallocOp::create(e, packedTail);
  }
  contraction.release(e);
}

void emitBlocked(LoopBuilder &e, ContractOp op) { Blocked(e, op).emit(); }

} // namespace mp::kernel
