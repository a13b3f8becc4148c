//===- TilePlan.cpp - The plan of a contraction's kernel ------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TilePlan.h"

#include "mp-opt/Codegen/Target/KnownTargets.h"

#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;

namespace mp::kernel::tiling {

/// True if cp.async can copy so many elements: at least 4 bytes, not converted.
static bool canBeAsync(const Problem &problem, unsigned operand, Type element,
                       int64_t width) {
  if (!GPUTarget::get(problem.op).hasAsyncCopies)
    return false;
  Type from = problem.types[operand].getElementType();
  int64_t bytes = width * from.getIntOrFloatBitWidth() / 8;
  return from == element && problem.getFactor(operand) == from && bytes >= 4;
}

static CopyPlan getCopy(const Problem &problem, TileAttr tile, GroupKind kind,
                        bool mayBeRagged) {
  bool isMMA = tile.getBy() != Multiplier::FMA;
  CopyPlan plan;
  plan.operand = kind == M ? problem.lhs : problem.rhs;
  plan.kind = kind;
  plan.element =
      isMMA ? problem.getFactor(plan.operand) : Type(problem.getAccumulator());
  int64_t length = kind == M ? tile.getM() : tile.getN();
  auto getWidth = [&](GroupKind along) {
    return mayBeRagged ? problem.getRaggedWidth(along, plan.operand)
                       : problem.getWidth(along, plan.operand);
  };
  int64_t widthK = getWidth(K), width = getWidth(kind);
  widthK = std::min(widthK, tile.getK());
  width = std::min(width, length);
  plan.alongK = widthK > width;
  if (widthK == width)
    plan.alongK = problem.getLastStep(K, plan.operand) == 1 &&
                  problem.getLastStep(kind, plan.operand) != 1;
  plan.width = plan.alongK ? widthK : width;
  plan.line = plan.alongK ? tile.getK() : length;
  plan.lines = plan.alongK ? length : tile.getK();
  if (isMMA) {
    // The chunks of ldmatrix, 16 bytes each.
    plan.chunk = 128 / plan.element.getIntOrFloatBitWidth();
    plan.linesOfK = plan.alongK;
    // A warp that loads elements reads two chunks of each line.
    plan.swizzle = plan.needsElements() ? 2 : 1;
    plan.pitch = plan.line;
    plan.rows = plan.lines;
    plan.width = std::min<int64_t>(plan.width, plan.chunk);
  } else {
    plan.chunk = plan.width;
    plan.linesOfK = false;
    // Rows begin at multiples of 16 bytes, and in different banks.
    plan.pitch = length + 128 / plan.element.getIntOrFloatBitWidth();
    plan.rows = tile.getK();
  }
  // Chunks that are transposed when they are stored are stored by elements.
  bool isTurned = plan.alongK && !plan.linesOfK;
  int64_t stored = isTurned ? 1 : plan.width;
  plan.isAsync = canBeAsync(problem, plan.operand, plan.element, stored) &&
                 (!isTurned || plan.width == 1);
  plan.isRagged =
      plan.width > problem.getWidth(plan.alongK ? K : kind, plan.operand);
  return plan;
}

/// Only cp.async fills chunks of fewer elements with zeros.
static CopyPlan getCopy(const Problem &problem, TileAttr tile, GroupKind kind) {
  CopyPlan plan = getCopy(problem, tile, kind, /*mayBeRagged=*/true);
  return plan.isAsync || !plan.isRagged
             ? plan
             : getCopy(problem, tile, kind, /*mayBeRagged=*/false);
}

/// The approximate number of operations of an epilogue for one element;
/// functions and divisions count as the operations that they consist of.
static int64_t countOperations(ContractOp op) {
  int64_t count = 0;
  for (Operation &inner : op.getEpilogue().front().without_terminator())
    count +=
        isa<math::MathDialect>(inner.getDialect()) || isa<arith::DivFOp>(inner)
            ? 20
            : 1;
  return count;
}

/// The largest epilogue of all elements of a thread, in operations, that is
/// unrolled: a larger one does not fit the instruction cache.
constexpr int64_t maxUnrolled = 512;
/// The same for rows that share a wait for their operands, and the most of
/// these.
constexpr int64_t maxUnrolledRows = 2048, maxTogether = 8;

/// The operands that an epilogue reads for each element are read in runs, too.
static StorePlan getStore(const Problem &problem, TileAttr tile) {
  StorePlan plan;
  ContractOp op = problem.op;
  int64_t elements = tile.getM() * tile.getN() / tile.getNumThreads();
  int64_t operations = countOperations(op);
  bool isWanted = elements * operations > maxUnrolled;
  unsigned output = problem.getOutput();
  plan.width = problem.getRaggedWidth(N, output);
  for (unsigned extra = 2; extra < output; ++extra) {
    bool isOfColumns = problem.dependsOn(extra, N);
    isWanted |= isOfColumns && problem.dependsOn(extra, M);
    int64_t width = problem.getRaggedWidth(N, extra);
    if (isOfColumns && width > 1)
      plan.width = std::min(plan.width, width);
  }
  // Each thread stores the same columns of several rows.
  int64_t threads = tile.getNumThreads();
  while (plan.width > 1 && tile.getN() % plan.width != 0)
    plan.width /= 2;
  plan.isRagged =
      problem.getRaggedWidth(N, output) > problem.getWidth(N, output);
  int64_t runs = tile.getN() / plan.width;
  plan.isStaged = isWanted && runs <= threads;
  if (!plan.isStaged)
    return plan;
  int64_t steps = llvm::divideCeil(tile.getM(), threads / runs);
  while (2 * plan.together <= std::min(steps, maxTogether) &&
         2 * plan.together * plan.width * operations <= maxUnrolledRows)
    plan.together *= 2;
  // Lanes that store to neighbouring rows do so to different banks.
  plan.pitch = tile.getN() + 8;
  return plan;
}

TilePlan TilePlan::get(const Problem &problem, TileAttr tile) {
  TilePlan plan;
  plan.tile = tile;
  plan.numThreads = tile.getNumThreads();
  plan.tilesM = llvm::divideCeil(problem.sizes[M], tile.getM());
  plan.tilesN = llvm::divideCeil(problem.sizes[N], tile.getN());
  plan.steps = llvm::divideCeil(problem.sizes[K], tile.getK());
  // An operand that is all padding is zeros.
  for (unsigned operand : {0, 1})
    if (problem.types[operand].getNumElements() == 0)
      plan.steps = 0;
  plan.numBlocks = problem.sizes[Batch] * plan.tilesM * plan.tilesN;
  plan.lhs = getCopy(problem, tile, M);
  plan.rhs = getCopy(problem, tile, N);
  auto getBytes = [&](const CopyPlan &copy) {
    int64_t bytes = copy.element.getIntOrFloatBitWidth() / 8;
    return llvm::alignTo(copy.getStageSize() * tile.getStages() * bytes, 128);
  };
  plan.rhsBegin = getBytes(plan.lhs);
  plan.sharedBytes = plan.rhsBegin + getBytes(plan.rhs);
  plan.store = getStore(problem, tile);
  if (plan.store.isStaged) {
    int64_t bits = problem.getAccumulator().getWidth();
    plan.sharedBytes =
        std::max(plan.sharedBytes, tile.getM() * plan.store.pitch * bits / 8);
  }
  // Half of the sums of each slice.
  if (tile.getSlices() > 1)
    plan.sharedBytes = std::max<int64_t>(
        plan.sharedBytes,
        tile.getM() * tile.getN() * tile.getSlices() / 2 * sizeof(float));
  return plan;
}

} // namespace mp::kernel::tiling
