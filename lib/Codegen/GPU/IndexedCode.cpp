//===- IndexedCode.cpp - Updates at places that data name -----------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "IndexedCode.h"

#include "GenericCode.h"
#include "MemoryRanges.h"
#include "mp-opt/Dialect/Device/DeviceOps.h"
#include "mp-opt/Dialect/Runtime/RuntimeOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace mp {

//===----------------------------------------------------------------------===//
// What is such a nest
//===----------------------------------------------------------------------===//

bool IndexedLoop::readLoops(scf::ForOp loop) {
  while (loop) {
    auto lower = getConstantIntValue(loop.getLowerBound()),
         upper = getConstantIntValue(loop.getUpperBound()),
         step = getConstantIntValue(loop.getStep());
    if (!lower || !upper || !step || loop.getNumResults() > 0)
      return false;
    int64_t trips =
        std::max<int64_t>(0, llvm::divideCeil(*upper - *lower, *step));
    loops.push_back({loop, *lower, *step, trips});
    body = loop.getBody();
    loop = dyn_cast<scf::ForOp>(body->front());
    if (loop && loop->getNextNode() != body->getTerminator())
      return false;
  }
  return true;
}

/// Constants are not asked for; what is a loop's own variable keeps its
/// iterations apart; all else is data.
bool IndexedLoop::readPlace(ArrayRef<OpFoldResult> place) {
  auto type = cast<MemRefType>(target.getType());
  for (auto [axis, index] : llvm::enumerate(place)) {
    if (getConstantIntValue(index))
      continue;
    Value value = cast<Value>(index);
    Loop *own = llvm::find_if(
        loops, [&](Loop &loop) { return loop.op.getInductionVar() == value; });
    if (own != loops.end()) {
      own->isFree = true;
      continue;
    }
    if (type.isDynamicDim(axis))
      return false;
    keys.push_back(value);
    keySizes.push_back(type.getDimSize(axis));
  }
  return !keys.empty();
}

/// The last op writes the element, or the row that is a view of the target.
bool IndexedLoop::readWriter() {
  writer = body->getTerminator()->getPrevNode();
  if (auto store = dyn_cast_or_null<memref::StoreOp>(writer)) {
    target = store.getMemRef();
    return readPlace(getAsOpFoldResult(store.getIndices()));
  }
  auto map = dyn_cast_or_null<linalg::GenericOp>(writer);
  if (!map || map.getNumReductionLoops() > 0 || map.getNumDpsInits() != 1 ||
      !map.getIndexingMapsArray().back().isPermutation())
    return false;
  auto row = map.getDpsInits().front().getDefiningOp<memref::SubViewOp>();
  if (!row || row->getBlock() != body)
    return false;
  for (int64_t extent : map.getStaticLoopRanges())
    rowPoints *= extent;
  target = row.getSource();
  for (auto [offset, size, stride] : llvm::zip(
           row.getMixedOffsets(), row.getMixedSizes(), row.getMixedStrides()))
    if (getConstantIntValue(stride) != 1 ||
        (!getConstantIntValue(offset) && getConstantIntValue(size) != 1))
      return false;
  return readPlace(row.getMixedOffsets());
}

/// A check that lets the kernel go on.
static bool isCheck(Operation &op) {
  auto branch = dyn_cast<scf::IfOp>(op);
  if (!branch || branch.getNumResults() > 0 || !branch.getElseRegion().empty())
    return false;
  return llvm::all_of(branch.thenBlock()->without_terminator(),
                      [](Operation &inner) {
                        if (auto fail = dyn_cast<runtime::FailOp>(inner))
                          return fail.getParallel();
                        if (auto fail = dyn_cast<device::FailOp>(inner))
                          return !fail.getEnds();
                        return isPure(&inner) && inner.getNumRegions() == 0;
                      });
}

/// Nothing but the updated element itself is read of what is written.
bool IndexedLoop::checkBody() {
  MemoryRange written = MemoryRange::get(target);
  if (Operation *source = target.getDefiningOp();
      source && loops.front().op->isAncestor(source))
    return false;
  if (auto map = dyn_cast<linalg::GenericOp>(writer)) {
    AffineMap own = map.getIndexingMapsArray().back();
    for (OpOperand *input : map.getDpsInputOperands())
      if (isa<MemRefType>(input->get().getType()) &&
          MemoryRange::get(input->get()).overlaps(written) &&
          (input->get() != map.getDpsInits().front() ||
           map.getMatchingIndexingMap(input) != own))
        return false;
  }
  for (Operation &op : body->without_terminator()) {
    if (&op == writer || isCheck(op) ||
        (isPure(&op) && op.getNumRegions() == 0))
      continue;
    auto load = dyn_cast<memref::LoadOp>(op);
    if (!load)
      return false;
    if (!MemoryRange::get(load.getMemRef()).overlaps(written))
      continue;
    auto store = dyn_cast<memref::StoreOp>(writer);
    if (!store || load.getMemRef() != target ||
        !llvm::equal(load.getIndices(), store.getIndices()))
      return false;
  }
  return true;
}

void IndexedLoop::findSlice() {
  llvm::DenseSet<Operation *> wanted;
  SmallVector<Operation *> worklist;
  auto want = [&](Value value) {
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      for (Loop &loop : loops)
        isUniform &= !loop.isFree || loop.op.getInductionVar() != argument;
      return;
    }
    Operation *op = value.getDefiningOp();
    if (op->getBlock() == body && wanted.insert(op).second)
      worklist.push_back(op);
  };
  for (Value key : keys)
    want(key);
  for (Operation &op : body->without_terminator())
    if (isCheck(op)) {
      wanted.insert(&op);
      worklist.push_back(&op);
    }
  while (!worklist.empty())
    worklist.pop_back_val()->walk([&](Operation *inner) {
      for (Value operand : inner->getOperands())
        want(operand);
    });
  for (Operation &op : *body)
    if (wanted.contains(&op))
      slice.insert(&op);
}

std::optional<IndexedLoop> IndexedLoop::get(scf::ForOp loop) {
  IndexedLoop result;
  if (!result.readLoops(loop) || !result.readWriter() || !result.checkBody())
    return std::nullopt;
  result.findSlice();
  return result;
}

int64_t IndexedLoop::countScanned() const {
  int64_t count = 1;
  for (const Loop &loop : loops)
    count *= loop.isFree ? 1 : loop.trips;
  return count;
}

int64_t IndexedLoop::countFree() const {
  int64_t count = rowPoints;
  for (const Loop &loop : loops)
    count *= loop.isFree ? loop.trips : 1;
  return count;
}

int64_t IndexedLoop::countPoints() const {
  return countScanned() * countFree();
}

int64_t IndexedLoop::countKeys() const {
  int64_t count = 1;
  for (int64_t size : keySizes)
    count *= size;
  return count;
}

//===----------------------------------------------------------------------===//
// Code
//===----------------------------------------------------------------------===//

IndexedCode::IndexedCode(RewriterBase &rewriter, IndexedLoop loop,
                         int64_t threads)
    : b(rewriter), loc(loop.loops.front().op.getLoc()), loop(std::move(loop)),
      threads(threads) {
  int64_t columns = std::max<int64_t>(1, this->loop.countFree());
  int64_t keys = std::max<int64_t>(1, this->loop.countKeys());
  width = std::min<int64_t>(threads, llvm::PowerOf2Ceil(columns));
  columnBlocks = llvm::divideCeil(columns, width);
  int64_t sharers = threads / width;
  keyBlocks = std::clamp<int64_t>(manyBlocks / columnBlocks, 1,
                                  llvm::divideCeil(keys, sharers));
  keysEach = llvm::divideCeil(keys, keyBlocks * sharers);
}

/// The variables of loops that are gone through.
void IndexedCode::setScanned(IRMapping &mapping, Value iteration) {
  SmallVector<int64_t> extents;
  for (IndexedLoop::Loop &own : loop.loops)
    if (!own.isFree)
      extents.push_back(own.trips);
  SmallVector<Value> found = delinearize(b, loc, iteration, extents);
  unsigned next = 0;
  for (IndexedLoop::Loop &own : loop.loops) {
    if (own.isFree)
      continue;
    Value index = found[next++];
    if (own.step != 1)
      index = arith::MulIOp::create(b, loc, index, makeIndex(b, loc, own.step));
    if (own.lower != 0)
      index =
          arith::AddIOp::create(b, loc, index, makeIndex(b, loc, own.lower));
    mapping.map(own.op.getInductionVar(), index);
  }
}

void IndexedCode::clone(IRMapping &mapping,
                        function_ref<bool(Operation *)> isWanted) {
  for (Operation &op : loop.body->without_terminator()) {
    if (!isWanted(&op))
      continue;
    Operation *made = b.clone(op, mapping);
    auto map = dyn_cast<linalg::GenericOp>(made);
    if (!map)
      continue;
    // Each time the same thread for an element of the row.
    SmallVector<int64_t> extents{
        std::max<int64_t>(1, loop.countFree() / loop.rowPoints),
        loop.rowPoints};
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPoint(map);
    Value point = delinearize(b, loc, column, extents).back();
    GenericCode code(b, map);
    code.analyze();
    code.emitMap({point, loop.rowPoints});
    b.eraseOp(map);
  }
}

/// The number of the place among all that data can name.
Value IndexedCode::getKey(IRMapping &mapping) {
  Value result;
  for (auto [key, size] : llvm::zip(loop.keys, loop.keySizes)) {
    Value index = mapping.lookupOrDefault(key);
    if (result)
      index = arith::AddIOp::create(
          b, loc,
          arith::MulIOp::create(b, loc, result, makeIndex(b, loc, size)),
          index);
    result = index;
  }
  return result;
}

/// What is wanted of an iteration whose place the thread owns.
void IndexedCode::update(IRMapping &mapping, Value key,
                         function_ref<bool(Operation *)> isWanted,
                         function_ref<void(IRMapping &)> prepare) {
  Value distance = arith::SubIOp::create(b, loc, key, firstKey);
  Value isOwn = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult,
                                      distance, makeIndex(b, loc, keysEach));
  if (isInside)
    isOwn = arith::AndIOp::create(b, loc, isOwn, isInside);
  auto branch = scf::IfOp::create(b, loc, isOwn);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  prepare(mapping);
  clone(mapping, isWanted);
}

/// As many keys as there are threads are computed at once.
void IndexedCode::emitStaged(gpu::GPUFuncOp function) {
  int64_t scanned = loop.countScanned();
  bool isShort = loop.countKeys() < INT32_MAX;
  Type type = isShort ? b.getI32Type() : b.getI64Type();
  Value memory = makeShared(b, loc, function, MemRefType::get({threads}, type));
  Value count = makeIndex(b, loc, scanned), all = makeIndex(b, loc, threads);
  auto pieces = scf::ForOp::create(b, loc, makeIndex(b, loc, 0), count, all);
  b.setInsertionPointToStart(pieces.getBody());
  Value first = pieces.getInductionVar();
  Value own = arith::AddIOp::create(b, loc, first, thread);
  Value isOne =
      arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, own, count);
  auto branch = scf::IfOp::create(b, loc, isOne);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    IRMapping mapping(freeIndices);
    setScanned(mapping, own);
    clone(mapping, [&](Operation *op) { return loop.slice.contains(op); });
    Value key = arith::IndexCastOp::create(b, loc, type, getKey(mapping));
    memref::StoreOp::create(b, loc, key, memory, thread);
  }
  gpu::BarrierOp::create(b, loc);
  Value rest = arith::SubIOp::create(b, loc, count, first);
  auto scan = scf::ForOp::create(b, loc, makeIndex(b, loc, 0),
                                 arith::MinUIOp::create(b, loc, rest, all),
                                 makeIndex(b, loc, 1));
  gpu::BarrierOp::create(b, loc);
  b.setInsertionPointToStart(scan.getBody());
  Value number = scan.getInductionVar();
  Value known = memref::LoadOp::create(b, loc, memory, number);
  IRMapping mapping(freeIndices);
  update(
      mapping, arith::IndexCastOp::create(b, loc, b.getIndexType(), known),
      [](Operation *op) { return !isCheck(*op); },
      [&](IRMapping &inside) {
        setScanned(inside, arith::AddIOp::create(b, loc, first, number));
      });
}

/// Each thread computes its own keys.
void IndexedCode::emitDirect() {
  auto scan = scf::ForOp::create(b, loc, makeIndex(b, loc, 0),
                                 makeIndex(b, loc, loop.countScanned()),
                                 makeIndex(b, loc, 1));
  b.setInsertionPointToStart(scan.getBody());
  IRMapping mapping(freeIndices);
  setScanned(mapping, scan.getInductionVar());
  clone(mapping, [&](Operation *op) { return loop.slice.contains(op); });
  update(
      mapping, getKey(mapping),
      [&](Operation *op) { return !loop.slice.contains(op); },
      [](IRMapping &) {});
}

void IndexedCode::emit(Value own, Value block, gpu::GPUFuncOp function) {
  OpBuilder::InsertionGuard guard(b);
  if (loop.countPoints() == 0)
    return;
  thread = own;
  auto number = [&](int64_t value) { return makeIndex(b, loc, value); };
  Value columnBlock =
      arith::RemUIOp::create(b, loc, block, number(columnBlocks));
  Value sharer = arith::DivUIOp::create(b, loc, block, number(columnBlocks));
  column = arith::RemUIOp::create(b, loc, thread, number(width));
  Value group = arith::DivUIOp::create(b, loc, thread, number(width));
  sharer = arith::AddIOp::create(
      b, loc, arith::MulIOp::create(b, loc, sharer, number(threads / width)),
      group);
  firstKey = arith::MulIOp::create(b, loc, sharer, number(keysEach));
  column = arith::AddIOp::create(
      b, loc, arith::MulIOp::create(b, loc, columnBlock, number(width)),
      column);
  int64_t columns = loop.countFree();
  if (columns % width != 0) {
    isInside = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, column,
                                     number(columns));
    column = arith::MinUIOp::create(b, loc, column, number(columns - 1));
  }
  SmallVector<int64_t> extents;
  for (IndexedLoop::Loop &each : loop.loops)
    if (each.isFree)
      extents.push_back(each.trips);
  extents.push_back(loop.rowPoints);
  SmallVector<Value> found = delinearize(b, loc, column, extents);
  unsigned next = 0;
  for (IndexedLoop::Loop &each : loop.loops) {
    if (!each.isFree)
      continue;
    Value index =
        arith::MulIOp::create(b, loc, found[next++], number(each.step));
    index = arith::AddIOp::create(b, loc, index, number(each.lower));
    freeIndices.map(each.op.getInductionVar(), index);
  }
  if (loop.isUniform)
    emitStaged(function);
  else
    emitDirect();
}

} // namespace mp
