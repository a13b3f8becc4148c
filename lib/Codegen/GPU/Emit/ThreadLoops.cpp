//===- ThreadLoops.cpp - Loops that threads share -------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ThreadLoops.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace mp {

Value getThread(OpBuilder &b, Location loc) {
  return gpu::ThreadIdOp::create(b, loc, gpu::Dimension::x);
}

Value getBlock(OpBuilder &b, Location loc) {
  return gpu::BlockIdOp::create(b, loc, gpu::Dimension::x);
}

Value makeIndex(OpBuilder &b, Location loc, int64_t value) {
  return arith::ConstantIndexOp::create(b, loc, value);
}

void Threads::forEach(OpBuilder &b, Location loc, int64_t points,
                      function_ref<void(Value)> body) const {
  if (points == 0)
    return;
  if (points == count)
    return body(id);
  OpBuilder::InsertionGuard guard(b);
  if (points > count) {
    auto loop = scf::ForOp::create(b, loc, id, makeIndex(b, loc, points),
                                   makeIndex(b, loc, count));
    b.setInsertionPointToStart(loop.getBody());
    return body(loop.getInductionVar());
  }
  Value isInside = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, id,
                                         makeIndex(b, loc, points));
  auto branch = scf::IfOp::create(b, loc, isInside);
  b.setInsertionPointToStart(branch.thenBlock());
  body(id);
}

void Threads::byFirst(OpBuilder &b, Location loc,
                      function_ref<void()> body) const {
  Value isFirst = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, id,
                                        makeIndex(b, loc, 0));
  auto branch = scf::IfOp::create(b, loc, isFirst);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  body();
}

SmallVector<Value> delinearize(OpBuilder &b, Location loc, Value linear,
                               ArrayRef<int64_t> extents) {
  SmallVector<Value> indices(extents.size());
  for (size_t dim = extents.size(); dim-- > 1;) {
    if (extents[dim] == 1) {
      indices[dim] = makeIndex(b, loc, 0);
      continue;
    }
    Value extent = makeIndex(b, loc, extents[dim]);
    indices[dim] = arith::RemUIOp::create(b, loc, linear, extent);
    linear = arith::DivUIOp::create(b, loc, linear, extent);
  }
  if (!extents.empty())
    indices[0] = linear;
  return indices;
}

SmallVector<Value>
emitSequence(OpBuilder &b, Location loc, int64_t extent, ArrayRef<Value> sums,
             function_ref<SmallVector<Value>(Value, ArrayRef<Value>)> body) {
  auto loop =
      scf::ForOp::create(b, loc, makeIndex(b, loc, 0),
                         makeIndex(b, loc, extent), makeIndex(b, loc, 1), sums);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  SmallVector<Value> inner(loop.getRegionIterArgs());
  SmallVector<Value> results = body(loop.getInductionVar(), inner);
  if (!sums.empty())
    scf::YieldOp::create(b, loc, results);
  return SmallVector<Value>(loop.getResults());
}

Value SharedMemory::make(OpBuilder &b, Location loc, MemRefType type) {
  for (Value memory : known)
    if (memory.getType() == type && taken.insert(memory).second)
      return memory;
  auto space =
      gpu::AddressSpaceAttr::get(b.getContext(), gpu::AddressSpace::Workgroup);
  auto shared = MemRefType::get(type.getShape(), type.getElementType(),
                                MemRefLayoutAttrInterface(), space);
  Value memory = function.addWorkgroupAttribution(shared, loc);
  // The alignment allows accesses to vectors.
  function.setWorkgroupAttributionAttr(
      function.getNumWorkgroupAttributions() - 1,
      LLVM::LLVMDialect::getAlignAttrName(), b.getI64IntegerAttr(16));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(&function.getBody().front());
  known.push_back(memref::MemorySpaceCastOp::create(b, loc, type, memory));
  taken.insert(known.back());
  return known.back();
}

/// The word of the lane at a distance.
static Value shuffleWord(OpBuilder &b, Location loc, Value word,
                         int64_t distance) {
  return gpu::ShuffleOp::create(b, loc, word, distance, warpSize,
                                gpu::ShuffleMode::XOR)
      .getShuffleResult();
}

/// The value of the lane at a distance. Other types than words are passed as
/// the bits of one or two words.
static Value shuffleValue(OpBuilder &b, Location loc, Value value,
                          int64_t distance) {
  Type type = value.getType(), word = b.getI32Type();
  if (type.isF32() || type.isInteger(32))
    return shuffleWord(b, loc, value, distance);
  if (isa<IndexType>(type)) {
    Value wide = arith::IndexCastOp::create(b, loc, b.getI64Type(), value);
    wide = shuffleValue(b, loc, wide, distance);
    return arith::IndexCastOp::create(b, loc, type, wide);
  }
  Type bits = b.getIntegerType(type.getIntOrFloatBitWidth());
  if (bits != type)
    value = arith::BitcastOp::create(b, loc, bits, value);
  Value result;
  if (bits.getIntOrFloatBitWidth() < 32) {
    value = arith::ExtUIOp::create(b, loc, word, value);
    value = shuffleWord(b, loc, value, distance);
    result = arith::TruncIOp::create(b, loc, bits, value);
  } else {
    Value shift = arith::ConstantIntOp::create(b, loc, 32, 64);
    Value high = arith::ShRUIOp::create(b, loc, value, shift);
    auto pass = [&](Value half) -> Value {
      half = arith::TruncIOp::create(b, loc, word, half);
      half = shuffleWord(b, loc, half, distance);
      return arith::ExtUIOp::create(b, loc, bits, half);
    };
    Value low = pass(value);
    high = arith::ShLIOp::create(b, loc, pass(high), shift);
    result = arith::OrIOp::create(b, loc, low, high);
  }
  if (bits != type)
    result = arith::BitcastOp::create(b, loc, type, result);
  return result;
}

Value reduceLanes(OpBuilder &b, Location loc, Value value, int64_t lanes,
                  CombineFn combine, int64_t distance) {
  for (int64_t apart = lanes / 2; apart >= distance; apart /= 2)
    value = combine(b, value, shuffleValue(b, loc, value, apart));
  return value;
}

/// Reduces through shared memory, half of the threads each time.
static Value reduceByHalves(OpBuilder &b, Location loc, const Threads &threads,
                            Value memory, CombineFn combine) {
  for (int64_t half = threads.count / 2; half > 0; half /= 2) {
    gpu::BarrierOp::create(b, loc);
    Threads{threads.id, threads.count}.forEach(b, loc, half, [&](Value i) {
      Value other = arith::AddIOp::create(b, loc, i, makeIndex(b, loc, half));
      Value x = memref::LoadOp::create(b, loc, memory, i);
      Value y = memref::LoadOp::create(b, loc, memory, other);
      memref::StoreOp::create(b, loc, combine(b, x, y), memory, i);
    });
  }
  gpu::BarrierOp::create(b, loc);
  return memref::LoadOp::create(b, loc, memory, makeIndex(b, loc, 0));
}

Value reduceBlock(OpBuilder &b, Location loc, SharedMemory &shared,
                  const Threads &threads, Value value, CombineFn combine) {
  Type type = value.getType();
  bool isWord = type.isF32() || type.isInteger(32);
  int64_t warps = threads.count / warpSize;
  auto share = [&](int64_t count) {
    return shared.make(b, loc, MemRefType::get({count}, type));
  };
  if (!isWord) {
    Value memory = share(threads.count);
    gpu::BarrierOp::create(b, loc);
    memref::StoreOp::create(b, loc, value, memory, threads.id);
    return reduceByHalves(b, loc, threads, memory, combine);
  }
  value = reduceLanes(b, loc, value, warpSize, combine);
  if (warps == 1)
    return value;
  Value memory = share(warps);
  Value lanes = makeIndex(b, loc, warpSize);
  Value lane = arith::RemUIOp::create(b, loc, threads.id, lanes);
  Value warp = arith::DivUIOp::create(b, loc, threads.id, lanes);
  gpu::BarrierOp::create(b, loc);
  Threads{lane, warpSize}.byFirst(
      b, loc, [&] { memref::StoreOp::create(b, loc, value, memory, warp); });
  gpu::BarrierOp::create(b, loc);
  // Each warp does this for itself: no further barrier is needed.
  Value place = arith::RemUIOp::create(b, loc, lane, makeIndex(b, loc, warps));
  Value partial = memref::LoadOp::create(b, loc, memory, place);
  return reduceLanes(b, loc, partial, warps, combine);
}

} // namespace mp
