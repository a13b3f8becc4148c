//===- GenericCode.cpp - Structured ops for threads -----------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GenericCode.h"

#include "Lanes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace mp {

int64_t GenericCode::product(ArrayRef<unsigned> list) const {
  int64_t result = 1;
  for (unsigned dim : list)
    result *= getExtent(dim);
  return result;
}

void GenericCode::analyze() {
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(op);
  read();
  mergeDims();
  indices.resize(dims.size());
  if (!dims.empty()) {
    inner = chooseInner();
    isReducedInside = dims[inner].isReduction;
    for (unsigned dim = 0; dim < dims.size(); ++dim)
      if (dim != inner)
        (dims[dim].isReduction ? reduced : outer).push_back(dim);
    (isReducedInside ? reduced : outer).push_back(inner);
  }
  if (!reduced.empty())
    combiners = findCombiners(op);
  if (reduced.empty() || canCombine())
    lanes = chooseLanes(/*isMap=*/reduced.empty());
}

void GenericCode::inspect() {
  Operation *before = op->getPrevNode();
  analyze();
  while (op->getPrevNode() != before)
    b.eraseOp(op->getPrevNode());
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

SmallVector<Value> GenericCode::loadOutputs() {
  SmallVector<Value> values;
  auto outputs = ArrayRef<LoopOperand>(operands).take_back(op.getNumDpsInits());
  for (auto [number, output] : llvm::enumerate(outputs)) {
    Value start = starts.lookup(number);
    values.push_back(start ? start
                           : memref::LoadOp::create(b, loc, output.memref,
                                                    getIndices(output))
                                 .getResult());
  }
  return values;
}

SmallVector<Value> GenericCode::getNeutral() {
  SmallVector<Value> values;
  for (Operation *combiner : combiners)
    values.push_back(
        arith::ConstantOp::create(b, loc, *arith::getNeutralElement(combiner)));
  return values;
}

SmallVector<Value> GenericCode::reduce(ArrayRef<unsigned> list,
                                       ArrayRef<Value> sums) {
  if (list.empty())
    return emitBody(sums);
  return emitSequence(b, loc, getExtent(list.front()), sums,
                      [&](Value i, ArrayRef<Value> inner) {
                        indices[list.front()] = i;
                        return reduce(list.drop_front(), inner);
                      });
}

void GenericCode::emitSerial(const Threads &threads) {
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(op);
  // Neighbouring points of a result are loaded together.
  bool isVector = canCombine() && isReducedInside && lanes > 1;
  threads.forEach(b, loc, countOutputs(), [&](Value linear) {
    setIndices(linear, outer);
    SmallVector<Value> results = loadOutputs();
    if (isVector)
      for (auto [result, partial, combiner] :
           llvm::zip(results, reduceFrom(makeIndex(b, loc, 0), 1), combiners))
        result =
            combine(b, combiner, result, combineVector(b, combiner, partial));
    else
      results = reduce(reduced, results);
    for (auto [output, value] : llvm::enumerate(results))
      store(output, value);
  });
}

void GenericCode::emitTogether(const Threads &threads, SharedMemory &shared,
                               Value number) {
  if (!canCombine())
    return emitSelection(threads, shared, number);
  // Vectors are those of the reduced points.
  if (hasColumns())
    lanes = 1;
  setIndices(number, outer);
  SmallVector<Value> partials = reduceFrom(threads.id, threads.count);
  SmallVector<Value> totals;
  for (auto [value, combiner] : llvm::zip(partials, combiners)) {
    Operation *own = combiner;
    Value sum = combineVector(b, own, value);
    totals.push_back(reduceBlock(b, loc, shared, threads, sum,
                                 [&](OpBuilder &at, Value x, Value y) {
                                   return combine(at, own, x, y);
                                 }));
  }
  threads.byFirst(b, loc, [&] {
    SmallVector<Value> before = loadOutputs();
    for (auto [output, total] : llvm::enumerate(totals))
      store(output, combine(b, combiners[output], before[output], total));
  });
}

/// Reduces the points, or vectors of these, from number `first` on, `step`
/// apart. With columns, the points are those of `lanes` outputs. Some points
/// are loaded at a time.
SmallVector<Value> GenericCode::reduceFrom(Value first, int64_t step) {
  constexpr int64_t together = 4;
  int64_t divisor = isReducedInside ? lanes : 1;
  int64_t total = countReduced() / divisor, each = total / step;
  LaneCode code(b, loc, lanes);
  SmallVector<Value> sums;
  for (Value neutral : getNeutral())
    sums.push_back(code.broadcast(neutral));
  auto add = [&](Value number, ArrayRef<Value> inner) {
    setIndices(number, reduced, divisor);
    return emitLanes(inner);
  };
  auto addSeveral = [&](Value begin, int64_t count, ArrayRef<Value> inner) {
    SmallVector<Value> own(inner);
    for (int64_t number = 0; number < count; ++number)
      own = add(arith::AddIOp::create(b, loc, begin,
                                      makeIndex(b, loc, number * step)),
                own);
    return own;
  };
  int64_t rounds = each / together;
  if (rounds > 0)
    sums = emitSequence(
        b, loc, rounds, sums, [&](Value round, ArrayRef<Value> inner) {
          Value size = makeIndex(b, loc, together * step);
          Value begin = arith::AddIOp::create(
              b, loc, first, arith::MulIOp::create(b, loc, round, size));
          return addSeveral(begin, together, inner);
        });
  auto after = [&](int64_t count) -> Value {
    return arith::AddIOp::create(b, loc, first,
                                 makeIndex(b, loc, count * step));
  };
  sums = addSeveral(after(rounds * together), each % together, sums);
  if (total % step == 0)
    return sums;
  // Some threads have one more point.
  auto loop = scf::ForOp::create(b, loc, after(each), makeIndex(b, loc, total),
                                 makeIndex(b, loc, step), sums);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  SmallVector<Value> inner(loop.getRegionIterArgs());
  scf::YieldOp::create(b, loc, add(loop.getInductionVar(), inner));
  return SmallVector<Value>(loop.getResults());
}

/// The lanes of a warp that have all outputs of a tile: a line of memory, of
/// which the lanes that follow read the next points.
static int64_t getTileLanes(int64_t lanes) {
  constexpr int64_t minLanes = 8;
  return std::max(minLanes, warpSize / lanes);
}

int64_t GenericCode::countTiles() const {
  return llvm::divideCeil(countOutputs(), getTileLanes(lanes) * lanes);
}

void GenericCode::emitColumns(const Threads &threads, SharedMemory &shared,
                              Value tile) {
  int64_t width = getTileLanes(lanes), vectors = countOutputs() / lanes;
  Value size = makeIndex(b, loc, width);
  Value lane = arith::RemUIOp::create(b, loc, threads.id, size);
  Value share = arith::DivUIOp::create(b, loc, threads.id, size);
  Value output = arith::AddIOp::create(
      b, loc, arith::MulIOp::create(b, loc, tile, size), lane);
  // Lanes after the last output reduce it as well, but do not store it.
  Value last = makeIndex(b, loc, vectors - 1);
  setIndices(arith::MinUIOp::create(b, loc, output, last), outer, lanes);
  SmallVector<Value> partials = reduceFrom(share, threads.count / width);
  // One partial result of each warp is left.
  int64_t warps = threads.count / warpSize;
  Value lanesOfWarp = makeIndex(b, loc, warpSize);
  Value warp = arith::DivUIOp::create(b, loc, threads.id, lanesOfWarp);
  Value place = arith::RemUIOp::create(b, loc, threads.id, lanesOfWarp);
  SmallVector<Value> memories, values;
  for (auto [partial, combiner] : llvm::zip(partials, combiners)) {
    Type element = getElementTypeOrSelf(partial.getType());
    memories.push_back(
        shared.make(b, loc, MemRefType::get({warps, width * lanes}, element)));
    for (int64_t number = 0; number < lanes; ++number) {
      Value value = partial;
      if (lanes > 1)
        value = vector::ExtractOp::create(b, loc, partial, number);
      values.push_back(reduceLanes(
          b, loc, value, warpSize,
          [&, own = combiner](OpBuilder &at, Value x, Value y) {
            return combine(at, own, x, y);
          },
          width));
    }
  }
  Threads{place, warpSize}.forEach(b, loc, width, [&](Value own) {
    Value *value = values.begin();
    for (Value memory : memories)
      for (int64_t number = 0; number < lanes; ++number) {
        Value column = arith::AddIOp::create(
            b, loc,
            arith::MulIOp::create(b, loc, own, makeIndex(b, loc, lanes)),
            makeIndex(b, loc, number));
        memref::StoreOp::create(b, loc, *value++, memory,
                                ValueRange{warp, column});
      }
  });
  gpu::BarrierOp::create(b, loc);
  storeTile(tile, threads, memories);
}

/// The first threads combine the partial results of all warps.
void GenericCode::storeTile(Value tile, const Threads &threads,
                            ArrayRef<Value> memories) {
  int64_t outputs = countOutputs(), columns = getTileLanes(lanes) * lanes;
  Value size = makeIndex(b, loc, columns);
  Value begin = arith::MulIOp::create(b, loc, tile, size), end = size;
  if (outputs % columns != 0) {
    Value rest =
        arith::SubIOp::create(b, loc, makeIndex(b, loc, outputs), begin);
    end = arith::MinUIOp::create(b, loc, rest, end);
  }
  Value isOwner =
      arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, threads.id, end);
  auto branch = scf::IfOp::create(b, loc, isOwner);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  setIndices(arith::AddIOp::create(b, loc, begin, threads.id), outer);
  SmallVector<Value> totals = loadOutputs();
  for (int64_t warp = 0; warp < threads.count / warpSize; ++warp)
    for (auto [index, memory] : llvm::enumerate(memories)) {
      Value partial = memref::LoadOp::create(
          b, loc, memory, ValueRange{makeIndex(b, loc, warp), threads.id});
      totals[index] = combine(b, combiners[index], totals[index], partial);
    }
  for (auto [index, total] : llvm::enumerate(totals))
    store(index, total);
}

//===----------------------------------------------------------------------===//
// Maps
//===----------------------------------------------------------------------===//

void GenericCode::setIndices(Value linear, ArrayRef<unsigned> list,
                             int64_t divisor) {
  SmallVector<int64_t> extents;
  for (unsigned dim : list)
    extents.push_back(getExtent(dim));
  if (!extents.empty())
    extents.back() = llvm::divideCeil(extents.back(), divisor);
  SmallVector<Value> found = delinearize(b, loc, linear, extents);
  for (auto [dim, index] : llvm::zip(list, found))
    indices[dim] = index;
  if (divisor > 1)
    indices[list.back()] = arith::MulIOp::create(b, loc, indices[list.back()],
                                                 makeIndex(b, loc, divisor));
}

int64_t GenericCode::countTasks() const {
  if (lanes == 1)
    return countOutputs();
  int64_t extent = getExtent(inner);
  return countOutputs() / extent * llvm::divideCeil(extent, lanes);
}

void GenericCode::emitMap(const Threads &threads) {
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(op);
  threads.forEach(b, loc, countTasks(), [&](Value linear) {
    setIndices(linear, outer, lanes);
    int64_t extent = lanes > 1 ? getExtent(inner) : 1;
    if (extent % lanes == 0)
      return emitPoints();
    Value isWhole =
        arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ule, indices[inner],
                              makeIndex(b, loc, extent - lanes));
    Value expected = arith::ConstantIntOp::create(b, loc, 1, 1);
    isWhole = LLVM::ExpectOp::create(b, loc, isWhole, expected);
    auto branch = scf::IfOp::create(b, loc, isWhole, /*withElseRegion=*/true);
    Value first = indices[inner];
    b.setInsertionPointToStart(branch.thenBlock());
    emitPoints();
    indices[inner] = first;
    b.setInsertionPointToStart(branch.elseBlock());
    emitEndOfLine();
  });
}

} // namespace mp
