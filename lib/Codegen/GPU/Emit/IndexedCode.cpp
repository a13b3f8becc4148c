//===- IndexedCode.cpp - Updates at places that data name -----------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "IndexedCode.h"

#include "GenericCode.h"
#include "mp-opt/Codegen/Common/MemoryRanges.h"
#include "mp-opt/Dialect/Device/DeviceOps.h"
#include "mp-opt/Dialect/Runtime/RuntimeOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace mp {

//===----------------------------------------------------------------------===//
// Recognition of nests
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

/// Finds the keys of a place. Constants are not keys. A loop's own variable
/// keeps the loop's iterations apart. All other indices are data.
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

/// A check that does not end the kernel.
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

/// True if the body reads nothing of the written memory but the updated
/// element.
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
        loop.hasOwnKeys |= loop.isFree && loop.op.getInductionVar() == argument;
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

/// A block's threads share the search for its indices if it is long enough.
void IndexedLoop::chooseOuter() {
  constexpr int64_t minShared = 256;
  bool isLong = countScanned() >= minShared;
  for (Loop &loop : loops) {
    loop.isOuter = loop.hasOwnKeys && isLong;
    isUniform &= !loop.hasOwnKeys || loop.isOuter;
  }
}

std::optional<IndexedLoop> IndexedLoop::get(scf::ForOp loop) {
  IndexedLoop result;
  if (!result.readLoops(loop) || !result.readWriter() || !result.checkBody())
    return std::nullopt;
  result.findSlice();
  result.chooseOuter();
  return result;
}

int64_t
IndexedLoop::countTrips(function_ref<bool(const Loop &)> isCounted) const {
  int64_t count = 1;
  for (const Loop &loop : loops)
    count *= isCounted(loop) ? loop.trips : 1;
  return count;
}

int64_t IndexedLoop::countScanned() const {
  return countTrips([](const Loop &loop) { return !loop.isFree; });
}

int64_t IndexedLoop::countFree() const {
  return rowPoints * countTrips([](const Loop &loop) {
           return loop.isFree && !loop.isOuter;
         });
}

int64_t IndexedLoop::countOuter() const {
  return countTrips([](const Loop &loop) { return loop.isOuter; });
}

int64_t IndexedLoop::countPoints() const {
  return countScanned() * countFree() * countOuter();
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

/// Neighbouring iterations whose keys a thread computes in a piece.
constexpr int64_t keysAtOnce = 4;

std::pair<int64_t, int64_t> IndexedLoop::divideColumns(int64_t threads) const {
  int64_t columns = std::max<int64_t>(1, countFree());
  int64_t width = std::min<int64_t>(threads, llvm::PowerOf2Ceil(columns));
  return {width, llvm::divideCeil(columns, width)};
}

int64_t IndexedLoop::countBlocks(int64_t threads, int64_t manyBlocks) const {
  auto [width, blocks] = divideColumns(threads);
  int64_t others = blocks * std::max<int64_t>(1, countOuter());
  int64_t keys = std::max<int64_t>(1, countKeys());
  return countOuter() * blocks *
         std::clamp<int64_t>(manyBlocks / others, 1,
                             llvm::divideCeil(keys, threads / width));
}

IndexedCode::IndexedCode(RewriterBase &rewriter, IndexedLoop nest,
                         int64_t threads, int64_t blocks)
    : b(rewriter), loc(nest.loops.front().op.getLoc()), loop(std::move(nest)),
      threads(threads) {
  std::tie(width, columnBlocks) = loop.divideColumns(threads);
  int64_t others = columnBlocks * std::max<int64_t>(1, loop.countOuter());
  keyBlocks = std::max<int64_t>(1, blocks / others);
  int64_t keys = std::max<int64_t>(1, loop.countKeys());
  keysEach = llvm::divideCeil(keys, keyBlocks * (threads / width));
}

/// Sets the variables of free loops: of the outer ones, which have their own
/// blocks, or of the others, whose last dimension is the row.
void IndexedCode::setFree(Value point, bool areOuter) {
  SmallVector<int64_t> extents;
  for (IndexedLoop::Loop &each : loop.loops)
    if (each.isFree && each.isOuter == areOuter)
      extents.push_back(each.trips);
  if (!areOuter)
    extents.push_back(loop.rowPoints);
  if (extents.empty())
    return;
  SmallVector<Value> found = delinearize(b, loc, point, extents);
  unsigned next = 0;
  for (IndexedLoop::Loop &each : loop.loops) {
    if (!each.isFree || each.isOuter != areOuter)
      continue;
    Value index = arith::MulIOp::create(b, loc, found[next++],
                                        makeIndex(b, loc, each.step));
    index = arith::AddIOp::create(b, loc, index, makeIndex(b, loc, each.lower));
    freeIndices.map(each.op.getInductionVar(), index);
  }
}

/// Sets the variables of the scanned loops.
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
    // An element of the row always has the same thread.
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

/// The number of the place among all that data can select.
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

/// Clones the wanted ops of an iteration whose place the thread owns.
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

/// The sum of the counts of the block's threads before this one, and of all.
static std::pair<Value, Value> sumBefore(OpBuilder &b, Location loc,
                                         Value thread, int64_t threads,
                                         Value count, Value memory) {
  Value lane =
      arith::RemUIOp::create(b, loc, thread, makeIndex(b, loc, warpSize));
  Value warp =
      arith::DivUIOp::create(b, loc, thread, makeIndex(b, loc, warpSize));
  Value zero = arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(0));
  Value upTo = count;
  for (int64_t distance = 1; distance < warpSize; distance *= 2) {
    auto other = gpu::ShuffleOp::create(b, loc, upTo, distance, warpSize,
                                        gpu::ShuffleMode::UP);
    Value isThere = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::uge,
                                          lane, makeIndex(b, loc, distance));
    Value more = arith::SelectOp::create(b, loc, isThere,
                                         other.getShuffleResult(), zero);
    upTo = arith::AddIOp::create(b, loc, upTo, more);
  }
  Value isLast = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, lane,
                                       makeIndex(b, loc, warpSize - 1));
  auto branch = scf::IfOp::create(b, loc, isLast);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    memref::StoreOp::create(b, loc, upTo, memory, warp);
  }
  gpu::BarrierOp::create(b, loc);
  Value before = arith::SubIOp::create(b, loc, upTo, count), all = zero;
  for (int64_t i = 0; i < threads / warpSize; ++i) {
    Value number = makeIndex(b, loc, i);
    Value sum = memref::LoadOp::create(b, loc, memory, number);
    Value isBefore =
        arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, number, warp);
    Value more = arith::SelectOp::create(b, loc, isBefore, sum, zero);
    before = arith::AddIOp::create(b, loc, before, more);
    all = arith::AddIOp::create(b, loc, all, sum);
  }
  return {before, all};
}

/// Makes a loop over a thread's keys of a piece, which carries a word.
static scf::ForOp makeKeyLoop(OpBuilder &b, Location loc, Value carried) {
  return scf::ForOp::create(b, loc, makeIndex(b, loc, 0),
                            makeIndex(b, loc, keysAtOnce), makeIndex(b, loc, 1),
                            carried);
}

/// Writes a thread's keys of a piece, from `begin` on, to `keys`, and returns a
/// bit for each that is the block's.
Value IndexedCode::findOwn(Value begin, Value keys) {
  Value count = makeIndex(b, loc, loop.countScanned());
  Value none = arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(0));
  scf::ForOp each = makeKeyLoop(b, loc, none);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(each.getBody());
  Value number = each.getInductionVar(), bits = each.getRegionIterArg(0);
  Value own = arith::AddIOp::create(b, loc, begin, number);
  Value isOne =
      arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, own, count);
  auto branch =
      scf::IfOp::create(b, loc, b.getI32Type(), isOne, /*withElseRegion=*/true);
  scf::YieldOp::create(b, loc, branch.getResult(0));
  b.setInsertionPointToStart(branch.elseBlock());
  scf::YieldOp::create(b, loc, bits);
  b.setInsertionPointToStart(branch.thenBlock());
  IRMapping mapping(freeIndices);
  setScanned(mapping, own);
  clone(mapping, [&](Operation *op) { return loop.slice.contains(op); });
  Value key = getKey(mapping);
  Type type = cast<MemRefType>(keys.getType()).getElementType();
  memref::StoreOp::create(b, loc, arith::IndexCastOp::create(b, loc, type, key),
                          keys, ValueRange{number, thread});
  Value distance = arith::SubIOp::create(b, loc, key, blockKey);
  Value isOurs =
      arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, distance,
                            makeIndex(b, loc, keysEach * (threads / width)));
  Value bit = arith::ShLIOp::create(
      b, loc, arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(1)),
      arith::IndexCastOp::create(b, loc, b.getI32Type(), number));
  Value more = arith::OrIOp::create(b, loc, bits, bit);
  scf::YieldOp::create(
      b, loc, arith::SelectOp::create(b, loc, isOurs, more, bits).getResult());
  return each.getResult(0);
}

/// Writes keys that have a bit, and their numbers in the piece, to the queue
/// from `place` on.
void IndexedCode::enqueue(Value bits, Value place, Value keys, Value queue) {
  scf::ForOp each = makeKeyLoop(b, loc, place);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(each.getBody());
  Value number = each.getInductionVar(), next = each.getRegionIterArg(0);
  Type word = b.getI32Type();
  Value one = arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(1));
  Value bit = arith::AndIOp::create(
      b, loc,
      arith::ShRUIOp::create(b, loc, bits,
                             arith::IndexCastOp::create(b, loc, word, number)),
      one);
  Value isOurs =
      arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, bit, one);
  auto branch = scf::IfOp::create(b, loc, isOurs);
  scf::YieldOp::create(b, loc,
                       arith::AddIOp::create(b, loc, next, bit).getResult());
  b.setInsertionPointToStart(branch.thenBlock());
  Value at = arith::IndexCastOp::create(b, loc, b.getIndexType(), next);
  Value key = memref::LoadOp::create(b, loc, keys, ValueRange{number, thread});
  Value inPiece = arith::AddIOp::create(
      b, loc,
      arith::MulIOp::create(b, loc, thread, makeIndex(b, loc, keysAtOnce)),
      number);
  inPiece = arith::IndexCastOp::create(b, loc, key.getType(), inPiece);
  memref::StoreOp::create(b, loc, key, queue,
                          ValueRange{makeIndex(b, loc, 0), at});
  memref::StoreOp::create(b, loc, inPiece, queue,
                          ValueRange{makeIndex(b, loc, 1), at});
}

/// Works in pieces: each thread finds the keys of the block among some, and
/// queues them in the order of the loops; then all threads go through the
/// queue.
void IndexedCode::emitStaged(SharedMemory &memory) {
  int64_t scanned = loop.countScanned(), piece = threads * keysAtOnce;
  bool isShort = loop.countKeys() < INT32_MAX;
  Type word = b.getI32Type(), type = isShort ? word : b.getI64Type();
  auto share = [&](ArrayRef<int64_t> shape, Type element) {
    return memory.make(b, loc, MemRefType::get(shape, element));
  };
  Value keys = share({keysAtOnce, threads}, type);
  Value queue = share({2, piece}, type), sums = share(threads / warpSize, word);
  auto pieces =
      scf::ForOp::create(b, loc, makeIndex(b, loc, 0),
                         makeIndex(b, loc, scanned), makeIndex(b, loc, piece));
  b.setInsertionPointToStart(pieces.getBody());
  Value first = pieces.getInductionVar();
  Value begin = arith::AddIOp::create(
      b, loc, first,
      arith::MulIOp::create(b, loc, thread, makeIndex(b, loc, keysAtOnce)));
  Value bits = findOwn(begin, keys);
  // Its barrier comes after all reads of the queue of the piece before.
  auto [before, all] = sumBefore(b, loc, thread, threads,
                                 math::CtPopOp::create(b, loc, bits), sums);
  enqueue(bits, before, keys, queue);
  gpu::BarrierOp::create(b, loc);
  auto scan = scf::ForOp::create(
      b, loc, makeIndex(b, loc, 0),
      arith::IndexCastOp::create(b, loc, b.getIndexType(), all),
      makeIndex(b, loc, 1));
  b.setInsertionPointToStart(scan.getBody());
  Value place = scan.getInductionVar();
  Value known = memref::LoadOp::create(b, loc, queue,
                                       ValueRange{makeIndex(b, loc, 0), place});
  IRMapping mapping(freeIndices);
  update(
      mapping, arith::IndexCastOp::create(b, loc, b.getIndexType(), known),
      [](Operation *op) { return !isCheck(*op); },
      [&](IRMapping &inside) {
        Value number = arith::IndexCastOp::create(
            b, loc, b.getIndexType(),
            memref::LoadOp::create(b, loc, queue,
                                   ValueRange{makeIndex(b, loc, 1), place}));
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

void IndexedCode::emit(Value own, Value block, SharedMemory &memory) {
  OpBuilder::InsertionGuard guard(b);
  if (loop.countPoints() == 0)
    return;
  thread = own;
  auto number = [&](int64_t value) { return makeIndex(b, loc, value); };
  int64_t shared = columnBlocks * keyBlocks;
  setFree(arith::DivUIOp::create(b, loc, block, number(shared)),
          /*areOuter=*/true);
  block = arith::RemUIOp::create(b, loc, block, number(shared));
  Value columnBlock =
      arith::RemUIOp::create(b, loc, block, number(columnBlocks));
  Value sharer = arith::DivUIOp::create(b, loc, block, number(columnBlocks));
  column = arith::RemUIOp::create(b, loc, thread, number(width));
  Value group = arith::DivUIOp::create(b, loc, thread, number(width));
  sharer = arith::MulIOp::create(b, loc, sharer, number(threads / width));
  blockKey = arith::MulIOp::create(b, loc, sharer, number(keysEach));
  sharer = arith::AddIOp::create(b, loc, sharer, group);
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
  setFree(column, /*areOuter=*/false);
  if (loop.isUniform)
    emitStaged(memory);
  else
    emitDirect();
}

} // namespace mp
