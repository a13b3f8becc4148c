//===- UnrollLoops.cpp - Loops as launches for each iteration -------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A plan is a list of launches and has no loops. A loop becomes one kernel of
// one block, or, if there is enough to do in each iteration, launches for each
// iteration: products of recurrent layers use the whole device then.
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Codegen/GPU/Partition/UnrollLoops.h"

#include "../Emit/IndexedCode.h"
#include "mp-opt/Codegen/Common/MemoryRanges.h"
#include "mp-opt/Dialect/Kernel/ContractShape.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/Utils/Utils.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;

namespace mp {

/// The approximate number of launches that unrolling may add to a plan.
constexpr int64_t maxRecords = 2000;
/// The points, or products, of an iteration that one block computes faster than
/// kernels are launched.
constexpr int64_t fewPointsOfLoop = 1 << 17;

namespace {
/// The work of an iteration.
struct Work {
  /// Ops that are kernels unless they are merged, and the points of all of
  /// them.
  int64_t records = 0, points = 0;
  bool isFlat = true;

  void add(Operation &op);
};
} // namespace

static int64_t multiply(ArrayRef<int64_t> extents) {
  int64_t product = 1;
  for (int64_t extent : extents)
    product =
        ShapedType::isDynamic(extent)
            ? product
            : int64_t(llvm::SaturatingMultiply<uint64_t>(product, extent));
  return product;
}

void Work::add(Operation &op) {
  int64_t own = 0;
  if (auto structured = dyn_cast<linalg::LinalgOp>(op))
    own = multiply(structured.getStaticLoopRanges());
  else if (auto contract = dyn_cast<kernel::ContractOp>(op))
    own = multiply(kernel::getStaticSizes(contract));
  else if (auto copy = dyn_cast<memref::CopyOp>(op))
    own = multiply(cast<MemRefType>(copy.getSource().getType()).getShape());
  else if (auto forall = dyn_cast<scf::ForallOp>(op)) {
    Work row;
    for (Operation &inner : forall.getBody()->without_terminator())
      row.add(inner);
    SmallVector<int64_t> counts;
    for (OpFoldResult bound : forall.getMixedUpperBound())
      counts.push_back(getConstantIntValue(bound).value_or(1));
    counts.push_back(std::max<int64_t>(1, row.points));
    own = multiply(counts);
  } else if (isa<scf::ForOp, scf::WhileOp>(op)) {
    // A loop in a loop is a kernel of one block, as it was.
    isFlat = false;
  } else if (isa<memref::AllocOp, memref::DeallocOp>(op) ||
             (op.getNumRegions() == 0 && !isa<memref::StoreOp>(op))) {
    return;
  }
  ++records;
  points = llvm::SaturatingAdd<uint64_t>(points, own);
}

/// Iterations run one after the other, and can share temporaries.
static void hoistTemporaries(scf::ForOp loop) {
  for (auto alloc :
       llvm::make_early_inc_range(loop.getBody()->getOps<memref::AllocOp>()))
    if (alloc.getType().hasStaticShape() && alloc.getDynamicSizes().empty())
      alloc->moveBefore(loop);
  for (auto dealloc :
       llvm::make_early_inc_range(loop.getBody()->getOps<memref::DeallocOp>()))
    if (auto alloc = dealloc.getMemref().getDefiningOp<memref::AllocOp>();
        alloc && alloc->getBlock() == loop->getBlock())
      dealloc->moveAfter(loop);
}

/// Replaces a part of a place in the arena at known first indices by a place of
/// its own, or a part of that: kernels of all iterations are the same then,
/// called with other pointers. Null if it is not such a part, or if its begin
/// is not aligned for accesses.
static Value makePlaceOf(OpBuilder &b, memref::SubViewOp part) {
  constexpr int64_t accessBytes = 16;
  auto whole = part.getSource().getDefiningOp<memref::ViewOp>();
  // Axes before the others of which one index is taken.
  int64_t lead = 0, rank = part.getSourceType().getRank();
  while (lead < rank && part.getStaticSize(lead) == 1)
    ++lead;
  int64_t kept = part.getType().getRank() - (rank - lead);
  if (!whole || lead == 0 || kept < 0 || !whole.getType().hasStaticShape() ||
      !whole.getType().getElementType().isIntOrFloat() ||
      !part.getType().hasStaticShape() ||
      llvm::any_of(part.getStaticOffsets(), ShapedType::isDynamic))
    return nullptr;
  ArrayRef<int64_t> shape = whole.getType().getShape();
  int64_t index = 0;
  for (int64_t axis = 0; axis < lead; ++axis)
    index = index * shape[axis] + part.getStaticOffset(axis);
  SmallVector<int64_t> rest(kept, 1), sizes(kept, 1);
  llvm::append_range(rest, shape.drop_front(lead));
  llvm::append_range(sizes, part.getStaticSizes().drop_front(lead));
  if (part.getType().getShape() != ArrayRef<int64_t>(sizes))
    return nullptr;
  auto plain = MemRefType::get(rest, whole.getType().getElementType());
  std::optional<int64_t> begin = getConstantIntValue(whole.getByteShift());
  int64_t bytes = index * countBytes(plain);
  if (!begin || bytes % accessBytes != 0)
    return nullptr;
  b.setInsertionPoint(part);
  Location loc = part.getLoc();
  Value shift = arith::ConstantIndexOp::create(b, loc, *begin + bytes);
  Value place = memref::ViewOp::create(b, loc, plain, whole.getSource(), shift,
                                       ValueRange());
  if (rest == sizes)
    return place;
  auto behind = [&](ArrayRef<OpFoldResult> values, int64_t front) {
    SmallVector<OpFoldResult> result(kept, b.getIndexAttr(front));
    llvm::append_range(result, values.drop_front(lead));
    return result;
  };
  return memref::SubViewOp::create(
      b, loc, place, behind(part.getMixedOffsets(), 0),
      behind(part.getMixedSizes(), 1), behind(part.getMixedStrides(), 1));
}

static bool isWork(Operation *op) {
  return isa<linalg::LinalgOp, kernel::ContractOp, memref::CopyOp>(op);
}

/// Replaces `memory`, and parts of it, by `place`, which is the same memory
/// with another type.
static void replaceMemory(OpBuilder &b, Value memory, Value place) {
  SmallVector<std::pair<Value, Value>> worklist{{memory, place}};
  while (!worklist.empty()) {
    auto [from, to] = worklist.pop_back_val();
    for (OpOperand &use : llvm::make_early_inc_range(from.getUses())) {
      if (isWork(use.getOwner()))
        use.set(to);
      auto part = dyn_cast<memref::SubViewOp>(use.getOwner());
      if (!part)
        continue;
      b.setInsertionPoint(part);
      MemRefType type = memref::SubViewOp::inferRankReducedResultType(
          part.getType().getShape(), cast<MemRefType>(to.getType()),
          part.getMixedOffsets(), part.getMixedSizes(), part.getMixedStrides());
      worklist.emplace_back(
          part, memref::SubViewOp::create(
                    b, part.getLoc(), type, to, part.getMixedOffsets(),
                    part.getMixedSizes(), part.getMixedStrides()));
    }
  }
}

/// Views that depend on an iteration's number have known offsets now. Ops on
/// them read the views, not casts that hide the offsets.
static LogicalResult resolveViews(func::FuncOp main) {
  RewritePatternSet patterns(main.getContext());
  memref::SubViewOp::getCanonicalizationPatterns(patterns, main.getContext());
  GreedyRewriteConfig config;
  config.setRegionSimplificationLevel(GreedySimplifyRegionLevel::Disabled);
  config.setMaxIterations(GreedyRewriteConfig::kNoLimit);
  if (failed(applyPatternsGreedily(main, std::move(patterns), config)))
    return failure();
  OpBuilder b(main.getContext());
  SmallVector<memref::CastOp> casts;
  main.walk([&](memref::CastOp cast) { casts.push_back(cast); });
  for (memref::CastOp cast : casts)
    if (isa<MemRefType>(cast.getSource().getType()))
      replaceMemory(b, cast, cast.getSource());
  SmallVector<memref::SubViewOp> parts;
  main.walk([&](memref::SubViewOp part) { parts.push_back(part); });
  for (memref::SubViewOp part : parts)
    if (Value place = makePlaceOf(b, part))
      replaceMemory(b, part, place);
  return success();
}

LogicalResult unrollLoops(ModuleOp module) {
  auto main = module.lookupSymbol<func::FuncOp>("main");
  if (!main)
    return success();
  int64_t left = maxRecords;
  bool isChanged = false;
  Block &block = main.getBody().front();
  for (auto loop : llvm::to_vector(block.getOps<scf::ForOp>())) {
    std::optional<llvm::APInt> trips = loop.getStaticTripCount();
    if (!trips || trips->getActiveBits() > 31 || IndexedLoop::get(loop))
      continue;
    Work work;
    for (Operation &op : loop.getBody()->without_terminator())
      work.add(op);
    int64_t records = trips->getSExtValue() * work.records;
    if (!work.isFlat || work.points < fewPointsOfLoop || records > left)
      continue;
    left -= records;
    hoistTemporaries(loop);
    isChanged |= succeeded(loopUnrollFull(loop));
  }
  return isChanged ? resolveViews(main) : success();
}

} // namespace mp
