//===- Strategy.cpp - The tile that suits a contraction -------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A block computes a tile; the multiprocessors of a GPU run blocks in parallel.
// Large tiles read less; small ones keep more multiprocessors busy and waste
// less at the edges. A model of rounds of blocks selects the fastest tile. The
// constants do not describe one particular GPU: the code is the same for all.
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Codegen/GPU/Contract.h"
#include "mp-opt/Codegen/Target/KnownTargets.h"

#include "TilePlan.h"

using namespace mlir;

namespace mp::kernel {

using tiling::CopyPlan;
using tiling::isKnown;
using tiling::Problem;
using tiling::TilePlan;

namespace {
/// A tile, and how fast its products are compared to those of the largest.
struct Candidate {
  int64_t m, n, k, partM, partN, stages;
  double speed;
  int64_t slices = 1;
};
} // namespace

/// Speeds were measured on an H200. Estimated are those of the smallest tiles,
/// of parts of 48 and 96, between those of the next smaller and larger ones,
/// and of slices, whose sums are added at the end. Two blocks of four warps, or
/// one of eight, fit the shared memory of all devices. Long steps wait less at
/// barriers. K is of 16-bit elements; of tf32, which is read as fp32, a step
/// has half as many, and the same bytes.
constexpr Candidate mmaTiles[] = {
    {128, 128, 64, 64, 64, 2, 1.0},     {128, 128, 64, 64, 32, 2, 0.95},
    {128, 128, 64, 64, 64, 3, 0.98, 2}, {96, 192, 64, 96, 48, 2, 0.93, 2},
    {192, 96, 64, 96, 48, 2, 0.93, 2},  {128, 96, 64, 64, 48, 2, 0.94},
    {96, 128, 64, 48, 64, 2, 0.94},     {128, 96, 64, 64, 48, 3, 0.93, 2},
    {96, 96, 64, 48, 48, 3, 0.87},      {128, 64, 64, 64, 32, 3, 0.89, 2},
    {64, 128, 64, 32, 64, 3, 0.88, 2},  {128, 128, 32, 64, 64, 4, 0.94},
    {128, 128, 32, 64, 32, 4, 0.84},    {128, 64, 64, 64, 32, 3, 0.91},
    {64, 128, 64, 32, 64, 3, 0.9},      {128, 64, 32, 64, 32, 4, 0.85},
    {64, 128, 32, 32, 64, 4, 0.88},     {64, 64, 64, 32, 32, 3, 0.76},
    {64, 64, 32, 32, 32, 4, 0.74},      {32, 128, 64, 32, 32, 4, 0.65},
    {32, 64, 32, 16, 32, 4, 0.57},      {64, 32, 32, 32, 16, 4, 0.53},
    {32, 32, 32, 16, 16, 4, 0.4},       {16, 64, 32, 16, 16, 4, 0.35},
    {64, 16, 32, 16, 16, 4, 0.35},      {16, 32, 32, 16, 16, 4, 0.18},
    {32, 16, 32, 16, 16, 4, 0.18},
};
constexpr Candidate fmaTiles[] = {
    {128, 128, 16, 8, 8, 3, 1.0}, {64, 128, 16, 8, 8, 3, 0.93},
    {128, 64, 16, 8, 8, 3, 0.92}, {64, 64, 16, 4, 4, 3, 0.78},
    {32, 64, 16, 4, 4, 3, 0.73},  {64, 32, 16, 4, 4, 3, 0.7},
    {32, 32, 16, 4, 2, 3, 0.56},  {16, 64, 16, 2, 4, 3, 0.45},
    {64, 16, 16, 4, 2, 3, 0.45},  {16, 16, 16, 2, 2, 3, 0.2},
};

/// The cost of writing and reading a partial sum, and of another kernel, in
/// products that a multiprocessor computes in that time: 8 bytes at 3 TB/s, and
/// about three microseconds.
struct SplitCost {
  double element, kernel;
};
constexpr SplitCost mmaCost = {4, 5e6}, fmaCost = {1, 4e5};
/// A split must reduce the time to `worthwhile` of it; doubling the pieces
/// again, to `worthDoubling`. Then the most pieces, and the least terms of the
/// sums of each.
constexpr double worthwhile = 0.7, worthDoubling = 0.9;
constexpr int64_t maxSplits = 64, minLength = 128;

/// The number of elements of the tiles computed at a time that keep a
/// multiprocessor busy, and the power of their share that is its speed with
/// fewer; the same of warps (tensorExponent of DeviceTimes.def). If elements
/// are loaded one by one, each block has `scalarSpeed` of the speed, and all of
/// them at most `maxScalarSpeed`.
struct Busy {
  double number, power;
};
constexpr Busy mmaBusy = {1e4, 0.5}, fmaBusy = {2.4e4, 0.22};
constexpr Busy warpsBusy = {8, 0.35};
/// The least rows and columns of a tile.
constexpr int64_t smallestTile = 16;
constexpr double scalarSpeed = 0.1, maxScalarSpeed = 0.5;

/// The part of its speed that a multiprocessor reaches with so many blocks:
/// each waits for memory, and for its other threads, while others compute.
static double getEfficiency(const Problem &problem, const TilePlan &plan,
                            int64_t blocks) {
  TileAttr tile = plan.tile;
  // AMD's GPUs have not been measured.
  const GPUTarget &target = GPUTarget::get(problem.op);
  if (!target.hasAsyncCopies)
    return 1;
  // Sums, and about as many for addresses and factors of any tile.
  int64_t sums = tile.getM() * tile.getN() * tile.getSlices() / plan.numThreads;
  int64_t resident = std::min(
      {blocks, target.processorBytes / std::max<int64_t>(1, plan.sharedBytes),
       target.numRegisters / (plan.numThreads * (sums + 64))});
  resident = std::max<int64_t>(1, resident);
  auto isScalar = [](const CopyPlan &copy) {
    return !copy.isAsync && copy.width == 1;
  };
  if (isScalar(plan.lhs) || isScalar(plan.rhs))
    return std::min(maxScalarSpeed, scalarSpeed * double(resident));
  auto getLength = [&](int64_t length, GroupKind kind) {
    return double(std::min<int64_t>(
        length, llvm::alignTo(problem.sizes[kind], smallestTile)));
  };
  double elements =
      double(resident) * getLength(tile.getM(), M) * getLength(tile.getN(), N);
  auto getShare = [](double number, Busy busy) {
    return std::min(1.0, std::pow(number / busy.number, busy.power));
  };
  if (tile.getBy() == Multiplier::FMA)
    return getShare(elements, fmaBusy);
  double warps =
      double(resident * plan.numThreads) / TileAttr::getLanes(tile.getBy());
  return std::min(getShare(elements * double(tile.getSlices()), mmaBusy),
                  getShare(warps, warpsBusy));
}

/// The number of rounds of blocks, times the time of one.
static double getTime(const Problem &problem, const Candidate &candidate,
                      const TilePlan &plan, int64_t splits) {
  int64_t blocks = llvm::divideCeil(plan.numBlocks * splits,
                                    GPUTarget::get(problem.op).numProcessors);
  double work = double(candidate.m * candidate.n) / candidate.speed;
  return double(blocks) * work / getEfficiency(problem, plan, blocks);
}

static TileAttr selectTile(ContractOp op, const Problem &problem,
                           int64_t splits, double &bestTime) {
  bool isMMA = canUseTensorCores(op);
  const GPUTarget &target = GPUTarget::get(op);
  int64_t kDivisor = isMMA && isTF32(op) ? 2 : 1;
  TileAttr best;
  bestTime = 0;
  for (const Candidate &candidate :
       isMMA ? ArrayRef<Candidate>(mmaTiles) : fmaTiles) {
    if (candidate.slices > 1 && target.multiplier != Multiplier::MMA)
      continue;
    auto tile = TileAttr::get(
        op.getContext(), isMMA ? target.multiplier : Multiplier::FMA,
        candidate.m, candidate.n, candidate.k / kDivisor, candidate.partM,
        candidate.partN, target.hasAsyncCopies ? candidate.stages : 2,
        candidate.slices);
    TilePlan plan = TilePlan::get(problem, tile);
    // Sums and elements that are being copied would not fit the registers.
    bool isDirect = !plan.lhs.isAsync || !plan.rhs.isAsync;
    if (isMMA && isDirect &&
        (candidate.partM * candidate.partN > 2048 || candidate.k > 32))
      continue;
    // Larger tiles of f64 would need too many registers.
    if (problem.getAccumulator().isF64() &&
        candidate.partM * candidate.partN > 32)
      continue;
    double time = getTime(problem, candidate, plan, splits);
    if (plan.sharedBytes > target.sharedBytes || (best && time >= bestTime))
      continue;
    best = tile;
    bestTime = time;
  }
  return best;
}

TileAttr selectTile(ContractOp op, int64_t numIdentical) {
  double time;
  return selectTile(op, Problem::get(op), numIdentical, time);
}

int64_t selectSplits(ContractOp op) {
  Problem problem = Problem::get(op);
  SplitCost cost = canUseTensorCores(op) ? mmaCost : fmaCost;
  double results =
      double(problem.sizes[Batch]) * problem.sizes[M] * problem.sizes[N];
  int64_t best = 1;
  double bestTime = 0;
  for (int64_t splits = 1; splits <= maxSplits; splits *= 2) {
    int64_t length = problem.sizes[K] / splits;
    if (splits > 1 && length < minLength)
      break;
    double time;
    selectTile(op, problem, splits, time);
    time *= double(length);
    if (splits > 1)
      time =
          (time + results * splits * cost.element + cost.kernel) / worthwhile;
    if (splits == 1 || time < (best == 1 ? 1.0 : worthDoubling) * bestTime) {
      best = splits;
      bestTime = time;
    }
  }
  return best;
}

bool isTF32(ContractOp op) {
  if (!op.getFactorType(0).isF32() || !op.getFactorType(1).isF32() ||
      !op.getAccumulatorType().isF32())
    return false;
  return allowsTF32(op);
}

bool canUseTensorCores(ContractOp op) {
  Type a = op.getFactorType(0), b = op.getFactorType(1);
  bool is16Bit = a == b && (a.isBF16() || a.isF16());
  if (!(is16Bit || isTF32(op)) || !isKnown(op))
    return false;
  Problem problem = Problem::get(op);
  // At least half of a tile's products must not be of zeros.
  return problem.sizes[K] >= 8 &&
         std::max(problem.sizes[M], problem.sizes[N]) >= 8;
}

/// The number of products that the threads of some warps compute before a block
/// has loaded its first tiles.
constexpr int64_t fewProducts = 4096;

bool isWorthTiles(ContractOp op) {
  if (!isKnown(op))
    return false;
  Problem problem = Problem::get(op);
  int64_t products = 1;
  for (int64_t size : problem.sizes)
    products = llvm::SaturatingMultiply<uint64_t>(products, size);
  return products > fewProducts && problem.sizes[K] >= 8;
}

bool isCopiedAsync(ContractOp op, unsigned operand) {
  TilePlan plan = TilePlan::get(Problem::get(op), selectTile(op));
  return plan.lhs.operand == operand ? plan.lhs.isAsync : plan.rhs.isAsync;
}

ContractLaunch getContractLaunch(ContractOp op) {
  TilePlan plan = TilePlan::get(Problem::get(op), op.getTileAttr());
  return {{int32_t(std::max<int64_t>(plan.numBlocks, 1)), 1, 1},
          {int32_t(plan.numThreads), 1, 1},
          int32_t(plan.sharedBytes)};
}

} // namespace mp::kernel
