//===- Multiply.cpp - Products of tiles in shared memory ------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Multiply.h"

#include "AMDMultiply.h"
#include "Fragments.h"

using namespace mlir;

namespace mp::kernel::tiling {

//===----------------------------------------------------------------------===//
// Fused multiply-adds
//===----------------------------------------------------------------------===//

namespace {
/// A thread has some runs of rows and of columns, each of 16 bytes at most;
/// runs of neighbouring threads are neighbours.
class FMAMultiply : public Multiply {
public:
  FMAMultiply(TileBuilder &e, const TilePlan &plan, Value lhs, Value rhs,
              Value thread)
      : plan(plan), lhs(lhs), rhs(rhs) {
    TileAttr tile = plan.tile;
    int64_t threadsN = tile.getN() / tile.getPartN();
    Value column = e.rem(thread, threadsN), row = e.div(thread, threadsN);
    int64_t most = 128 / plan.lhs.element.getIntOrFloatBitWidth();
    rowRun = std::min(tile.getPartM(), most);
    runLength = std::min(tile.getPartN(), most);
    int64_t rowStep = tile.getM() / tile.getPartM() * rowRun;
    for (int64_t i = 0; i < tile.getPartM() / rowRun; ++i)
      rowRuns.push_back(e.add(e.mul(row, rowRun), i * rowStep));
    for (Value first : rowRuns)
      for (int64_t i = 0; i < rowRun; ++i)
        rows.push_back(e.add(first, i));
    for (int64_t i = 0; i < tile.getPartN() / runLength; ++i)
      runs.push_back(e.add(e.mul(column, runLength), i * threadsN * runLength));
  }

  SmallVector<Value> multiply(TileBuilder &e, Value stage,
                              ValueRange sums) const override {
    // This many products make the cost of the loop negligible.
    int64_t unrolled = std::min<int64_t>(
        plan.tile.getK(), std::max<int64_t>(64 / getNumSums(), 2));
    return e.loop(plan.tile.getK(), unrolled, sums,
                  [&](Value k, ValueRange carried) {
                    SmallVector<Value> next = llvm::to_vector(carried);
                    for (int64_t i = 0; i < unrolled; ++i)
                      multiplyRow(e, e.add(k, i), stage, next);
                    return next;
                  });
  }

  int64_t getSum(int64_t row, int64_t run, int64_t column) const override {
    return (row * runs.size() + run) * runLength + column;
  }

private:
  /// Adds the products of one element of K.
  void multiplyRow(TileBuilder &e, Value k, Value stage,
                   SmallVectorImpl<Value> &sums) const {
    auto read = [&](Value memory, const CopyPlan &copy, ArrayRef<Value> firsts,
                    int64_t length) {
      Value line =
          e.add(e.mul(stage, copy.getStageSize()), e.mul(k, copy.pitch));
      SmallVector<Value> elements;
      for (Value first : firsts)
        llvm::append_range(elements, e.getElements(e.load(
                                         memory, e.add(line, first), length)));
      return elements;
    };
    SmallVector<Value> a = read(lhs, plan.lhs, rowRuns, rowRun);
    SmallVector<Value> b = read(rhs, plan.rhs, runs, runLength);
    for (auto [i, left] : llvm::enumerate(a))
      for (auto [j, right] : llvm::enumerate(b)) {
        Value &sum = sums[i * b.size() + j];
        sum = e.fma(left, right, sum);
      }
  }

  const TilePlan &plan;
  Value lhs, rhs;
  int64_t rowRun;
  SmallVector<Value> rowRuns;
};
} // namespace

//===----------------------------------------------------------------------===//
// Tensor cores
//===----------------------------------------------------------------------===//

namespace {
/// mma.sync of 16 x 8 x 16, of tf32 16 x 8 x 8: K is as long as two chunks of
/// shared memory. Each of two slices has half of a stage's K. A lane has rows
/// lane / 4 and lane / 4 + 8 of each product, and two columns from 2 (lane mod
/// 4) on.
class MMAMultiply : public Multiply {
public:
  MMAMultiply(TileBuilder &e, const TilePlan &plan, Value lhs, Value rhs,
              Value thread)
      : plan(plan), lhs(lhs), rhs(rhs), thread(thread), lane(e.rem(thread, 32)),
        firstK(e.index(0)), depth(2 * plan.lhs.chunk) {
    TileAttr tile = plan.tile;
    int64_t warpsN = tile.getN() / tile.getPartN();
    Value warp = e.div(thread, 32);
    if (tile.getSlices() > 1) {
      firstK = e.mul(e.div(warp, tile.getNumParts()), getSliceLength());
      warp = e.rem(warp, tile.getNumParts());
    }
    firstRow = e.mul(e.div(warp, warpsN), tile.getPartM());
    firstColumn = e.mul(e.rem(warp, warpsN), tile.getPartN());
    Value row = e.add(firstRow, e.div(lane, 4));
    Value column = e.add(firstColumn, e.mul(e.rem(lane, 4), 2));
    for (int64_t i = 0; i < tile.getPartM(); i += 8)
      rows.push_back(e.add(row, i));
    for (int64_t i = 0; i < tile.getPartN(); i += 8)
      runs.push_back(e.add(column, i));
    runLength = 2;
  }

  SmallVector<Value> multiply(TileBuilder &e, Value stage,
                              ValueRange sums) const override {
    SmallVector<Value> next = llvm::to_vector(sums);
    for (int64_t inSlice = 0; inSlice < getSliceLength(); inSlice += depth) {
      Value k = e.add(firstK, inSlice);
      SmallVector<SmallVector<Value>> a, b;
      for (int64_t i = 0; i < plan.tile.getPartM(); i += 16)
        a.push_back(loadLHS(e, stage, i, k));
      for (int64_t j = 0; j < plan.tile.getPartN(); j += 16) {
        SmallVector<Value> both = loadRHS(e, stage, j, k);
        b.push_back({both[0], both[1]});
        b.push_back({both[2], both[3]});
      }
      for (auto [i, left] : llvm::enumerate(a))
        for (auto [j, right] : llvm::enumerate(b))
          emitMMA(
              e, plan.lhs.element, left, right,
              MutableArrayRef<Value>(next).slice((i * b.size() + j) * 4, 4));
    }
    return next;
  }

  int64_t getSum(int64_t row, int64_t run, int64_t column) const override {
    return (row / 2 * runs.size() + run) * 4 + row % 2 * 2 + column;
  }

  SmallVector<Value> joinSlices(TileBuilder &e, Value shared,
                                ValueRange sums) override {
    if (plan.tile.getSlices() == 1)
      return sums;
    constexpr int64_t run = 4;
    size_t half = sums.size() / 2;
    auto type =
        MemRefType::get({int64_t(half) * plan.numThreads}, e.getF32Type(),
                        MemRefLayoutAttrInterface(),
                        cast<MemRefType>(shared.getType()).getMemorySpace());
    Value zero = arith::ConstantIndexOp::create(e, 0);
    Value memory = memref::ViewOp::create(e, type, shared, zero, ValueRange{});
    Value isFirst = e.isWithin(thread, plan.numThreads / 2);
    auto choose = [&](ValueRange first, ValueRange second) {
      SmallVector<Value> chosen;
      for (auto [a, b] : llvm::zip_equal(first, second))
        chosen.push_back(e.select(isFirst, a, b));
      return chosen;
    };
    auto getPlace = [&](Value of, size_t i) {
      return e.mul(e.add(of, int64_t(i) / run * plan.numThreads), run);
    };
    SmallVector<Value> others =
        choose(sums.drop_front(half), sums.take_front(half));
    // Other warps still read their last tiles.
    mlir::gpu::BarrierOp::create(e);
    for (size_t i = 0; i < half; i += run)
      e.store(e.fromElements(ArrayRef(others).slice(i, run)), memory,
              getPlace(thread, i));
    mlir::gpu::BarrierOp::create(e);
    int64_t distance = plan.numThreads / 2;
    Value partner = e.select(isFirst, e.add(thread, distance),
                             e.sub(thread, e.index(distance)));
    SmallVector<Value> own =
        choose(sums.take_front(half), sums.drop_front(half));
    for (size_t i = 0; i < half; i += run) {
      SmallVector<Value> more =
          e.getElements(e.load(memory, getPlace(partner, i), run));
      for (auto [sum, other] :
           llvm::zip_equal(MutableArrayRef<Value>(own).slice(i, run), more))
        sum = arith::AddFOp::create(e, sum, other);
    }
    ArrayRef<Value> all = rows;
    rows =
        choose(all.take_front(all.size() / 2), all.drop_front(all.size() / 2));
    return own;
  }

private:
  int64_t getSliceLength() const {
    return plan.tile.getK() / plan.tile.getSlices();
  }

  /// The same matrices of tf32, of which shared memory has lines of M or N,
  /// element by element: of each, row lane / 4 and element lane mod 4 of K.
  /// Matrices follow each other along K where `isKInner`.
  SmallVector<Value> loadElements(TileBuilder &e, Value memory,
                                  const CopyPlan &copy, Value stage,
                                  Value first, Value k, bool isKInner) const {
    Value row = e.div(lane, 4), column = e.add(e.rem(lane, 4), k);
    SmallVector<Value> registers;
    for (int64_t i = 0; i < 4; ++i) {
      int64_t besideK = isKInner ? i % 2 : i / 2;
      int64_t beside = isKInner ? i / 2 : i % 2;
      Value line = e.add(column, 4 * besideK);
      Value place = e.add(e.add(first, row), 8 * beside);
      Value at = e.add(getSharedPlace(e, copy, stage, line, e.div(place, 4)),
                       e.rem(place, 4));
      registers.push_back(roundToTF32(e, e.load(memory, at, 1)));
    }
    return registers;
  }

  /// Rows 0 to 7 and 8 to 15 of elements 0 to 7 of K, then of 8 to 15.
  SmallVector<Value> loadLHS(TileBuilder &e, Value stage, int64_t row,
                             Value k) const {
    Value first = e.add(firstRow, row);
    if (plan.lhs.needsElements())
      return loadElements(e, lhs, plan.lhs, stage, first, k,
                          /*isKInner=*/false);
    return loadLHSFragment(e, {lhs, plan.lhs, stage}, lane, first, k);
  }

  /// Elements 0 to 7 and 8 to 15 of K of columns 0 to 7, then of 8 to 15.
  SmallVector<Value> loadRHS(TileBuilder &e, Value stage, int64_t column,
                             Value k) const {
    Value first = e.add(firstColumn, column);
    if (plan.rhs.needsElements())
      return loadElements(e, rhs, plan.rhs, stage, first, k,
                          /*isKInner=*/true);
    return loadRHSFragments(e, {rhs, plan.rhs, stage}, lane, first, k);
  }

  const TilePlan &plan;
  Value lhs, rhs, thread, lane, firstRow, firstColumn, firstK;
  /// Elements of K of a product.
  int64_t depth;
};
} // namespace

std::unique_ptr<Multiply> Multiply::create(TileBuilder &e, const TilePlan &plan,
                                           Value lhs, Value rhs, Value thread) {
  if (plan.tile.getBy() == Multiplier::MMA)
    return std::make_unique<MMAMultiply>(e, plan, lhs, rhs, thread);
  if (plan.tile.getBy() == Multiplier::FMA)
    return std::make_unique<FMAMultiply>(e, plan, lhs, rhs, thread);
  return makeAMDMultiply(e, plan, lhs, rhs, thread);
}

} // namespace mp::kernel::tiling
