//===- AMDMultiply.cpp - Products by matrix cores -------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The distribution of elements over lanes is as AMD has published it: "AMD
// matrix cores" (lab notes) for MFMA, "How to accelerate AI applications on
// RDNA 3 using WMMA" (GPUOpen) for WMMA.
//
// * MFMA 16 x 16 x 16, of 64 lanes: lane l has row l mod 16 of A and elements
//   4 (l / 16) to 4 (l / 16) + 3 of K; the same of column l mod 16 of B; and
//   rows 4 (l / 16) to 4 (l / 16) + 3 of column l mod 16 of the result. Our
//   right side is its A: a lane's elements of the result are neighbours in a
//   row then.
// * WMMA 16 x 16 x 16, of 32 lanes: lane l has all of row l mod 16 of A, all of
//   column l mod 16 of B, and rows 2 i + l / 16 of column l mod 16 of the
//   result.
//
//===----------------------------------------------------------------------===//

#include "AMDMultiply.h"

#include "TileCopy.h"

#include "mlir/Dialect/LLVMIR/ROCDLDialect.h"

using namespace mlir;

namespace mp::kernel::tiling {

namespace {
/// Rows, columns and elements of K of a product.
constexpr int64_t side = 16;
/// Elements of a chunk of shared memory.
constexpr int64_t chunk = 8;

/// The base of both: multiplies a wave's part of the tile, product by product.
class WaveMultiply : public Multiply {
public:
  WaveMultiply(TileBuilder &e, const TilePlan &plan, Value lhs, Value rhs,
               Value thread, int64_t lanes)
      : plan(plan), lhs(lhs), rhs(rhs) {
    TileAttr tile = plan.tile;
    int64_t wavesN = tile.getN() / tile.getPartN();
    Value lane = e.rem(thread, lanes), wave = e.div(thread, lanes);
    own = e.rem(lane, side);
    group = e.div(lane, side);
    firstRow = e.mul(e.div(wave, wavesN), tile.getPartM());
    firstColumn = e.mul(e.rem(wave, wavesN), tile.getPartN());
  }

  SmallVector<Value> multiply(TileBuilder &e, Value stage,
                              ValueRange sums) const override {
    SmallVector<Value> next = llvm::to_vector(sums);
    TileAttr tile = plan.tile;
    int64_t numSums =
        getNumSums() / (tile.getPartM() / side) / (tile.getPartN() / side);
    for (int64_t k = 0; k < tile.getK(); k += side) {
      SmallVector<Value> a, b;
      for (int64_t i = 0; i < tile.getPartM(); i += side)
        a.push_back(load(e, lhs, plan.lhs, stage, e.add(firstRow, i), k));
      for (int64_t j = 0; j < tile.getPartN(); j += side)
        b.push_back(load(e, rhs, plan.rhs, stage, e.add(firstColumn, j), k));
      for (auto [i, left] : llvm::enumerate(a))
        for (auto [j, right] : llvm::enumerate(b)) {
          auto own = MutableArrayRef<Value>(next).slice(
              (i * b.size() + j) * numSums, numSums);
          Value result = emitProduct(e, left, right, e.fromElements(own));
          llvm::copy(e.getElements(result), own.begin());
        }
    }
    return next;
  }

protected:
  /// The lane's factors of the rows (columns) from `first` on and the elements
  /// of K from `k` on.
  virtual Value load(TileBuilder &e, Value memory, const CopyPlan &copy,
                     Value stage, Value first, int64_t k) const = 0;
  virtual Value emitProduct(TileBuilder &e, Value left, Value right,
                            Value sums) const = 0;

  /// `count` elements of K, from `k` on, of a row or a column.
  Value loadRun(TileBuilder &e, Value memory, const CopyPlan &copy, Value stage,
                Value place, Value k, int64_t count) const {
    Value begin = e.mul(stage, copy.getStageSize());
    auto getPlace = [&](Value line, Value inLine) {
      Value position = getSwizzled(e, line, e.div(inLine, chunk),
                                   copy.pitch / chunk, copy.swizzle);
      Value at = e.add(e.mul(position, chunk), e.rem(inLine, chunk));
      return e.add(begin, e.add(e.mul(line, copy.pitch), at));
    };
    SmallVector<Value> elements;
    if (copy.linesOfK)
      for (int64_t i = 0; i < count; i += chunk) {
        int64_t width = std::min(count, chunk);
        Value run = e.load(memory, getPlace(place, e.add(k, i)), width);
        llvm::append_range(elements, e.getElements(run));
      }
    else
      for (int64_t i = 0; i < count; ++i)
        elements.push_back(e.load(memory, getPlace(e.add(k, i), place), 1));
    return e.fromElements(elements);
  }

  /// bf16 as integers.
  Value toWords(TileBuilder &e, Value factors) const {
    auto type = cast<VectorType>(factors.getType());
    if (!type.getElementType().isBF16())
      return factors;
    return vector::BitCastOp::create(e, type.clone(e.getI16Type()), factors);
  }

  const TilePlan &plan;
  Value lhs, rhs, firstRow, firstColumn;
  /// The lane modulo 16, and the lane divided by 16.
  Value own, group;
};

class MFMAMultiply : public WaveMultiply {
public:
  MFMAMultiply(TileBuilder &e, const TilePlan &plan, Value lhs, Value rhs,
               Value thread)
      : WaveMultiply(e, plan, lhs, rhs, thread, /*lanes=*/64) {
    for (int64_t i = 0; i < plan.tile.getPartM(); i += side)
      rows.push_back(e.add(e.add(firstRow, i), own));
    runLength = 4;
    for (int64_t j = 0; j < plan.tile.getPartN(); j += side)
      runs.push_back(e.add(e.add(firstColumn, j), e.mul(group, runLength)));
  }

  int64_t getSum(int64_t row, int64_t run, int64_t column) const override {
    return (row * runs.size() + run) * runLength + column;
  }

protected:
  Value load(TileBuilder &e, Value memory, const CopyPlan &copy, Value stage,
             Value first, int64_t k) const override {
    return loadRun(e, memory, copy, stage, e.add(first, own),
                   e.add(e.mul(group, 4), k), /*count=*/4);
  }

  Value emitProduct(TileBuilder &e, Value left, Value right,
                    Value sums) const override {
    Value none = arith::ConstantIntOp::create(e, 0, 32);
    SmallVector<Value> operands = {
        toWords(e, right), toWords(e, left), sums, none, none, none};
    if (plan.lhs.element.isBF16())
      return ROCDL::mfma_f32_16x16x16bf16_1k::create(e, sums.getType(),
                                                     operands);
    return ROCDL::mfma_f32_16x16x16f16::create(e, sums.getType(), operands);
  }
};

class WMMAMultiply : public WaveMultiply {
public:
  WMMAMultiply(TileBuilder &e, const TilePlan &plan, Value lhs, Value rhs,
               Value thread)
      : WaveMultiply(e, plan, lhs, rhs, thread, /*lanes=*/32) {
    for (int64_t i = 0; i < plan.tile.getPartM(); i += 2)
      rows.push_back(e.add(e.add(firstRow, i), group));
    for (int64_t j = 0; j < plan.tile.getPartN(); j += side)
      runs.push_back(e.add(e.add(firstColumn, j), own));
  }

  int64_t getSum(int64_t row, int64_t run, int64_t column) const override {
    return (row / 8 * runs.size() + run) * 8 + row % 8;
  }

protected:
  Value load(TileBuilder &e, Value memory, const CopyPlan &copy, Value stage,
             Value first, int64_t k) const override {
    return loadRun(e, memory, copy, stage, e.add(first, own), e.index(k), side);
  }

  Value emitProduct(TileBuilder &e, Value left, Value right,
                    Value sums) const override {
    Value a = toWords(e, left), b = toWords(e, right);
    if (plan.lhs.element.isBF16())
      return ROCDL::wmma_f32_16x16x16_bf16::create(e, sums.getType(), a, b,
                                                   sums);
    return ROCDL::wmma_f32_16x16x16_f16::create(e, sums.getType(), a, b, sums);
  }
};
} // namespace

std::unique_ptr<Multiply> makeAMDMultiply(TileBuilder &e, const TilePlan &plan,
                                          Value lhs, Value rhs, Value thread) {
  if (plan.tile.getBy() == Multiplier::MFMA)
    return std::make_unique<MFMAMultiply>(e, plan, lhs, rhs, thread);
  return std::make_unique<WMMAMultiply>(e, plan, lhs, rhs, thread);
}

} // namespace mp::kernel::tiling
