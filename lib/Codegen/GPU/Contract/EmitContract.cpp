//===- EmitContract.cpp - The body of a contraction's kernel --------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Codegen/GPU/Contract.h"

#include "TileCopy.h"
#include "TileStore.h"

using namespace mlir;

namespace mp::kernel {

using namespace tiling;

namespace {
/// The steps along K: while one is multiplied, the next ones are being copied.
class Steps {
public:
  Steps(TileBuilder &e, const TilePlan &plan, ArrayRef<const TileCopy *> async,
        ArrayRef<const TileCopy *> direct, const Multiply &multiply)
      : e(e), plan(plan), async(async), direct(direct), multiply(multiply),
        ahead(plan.tile.getStages() - 1) {}

  SmallVector<Value> emit(SmallVector<Value> sums) {
    if (plan.steps == 0)
      return sums;
    for (int64_t step = 0; step < ahead; ++step) {
      if (step < plan.steps)
        fetch(e.index(step * plan.tile.getK()), e.index(step));
      commit();
    }
    return e.loop(plan.steps, 1, sums, [&](Value step, ValueRange carried) {
      return emitStep(step, carried);
    });
  }

private:
  void start(Value k, Value stage) {
    for (const TileCopy *copy : async)
      copy->start(e, k, stage);
  }
  void fetch(Value k, Value stage) {
    start(k, stage);
    for (const TileCopy *copy : direct)
      copy->write(e, copy->read(e, k), stage);
  }
  void commit() {
    if (!async.empty())
      token = nvgpu::DeviceAsyncCreateGroupOp::create(
          e, nvgpu::DeviceAsyncTokenType::get(e.getContext()), ValueRange{});
  }

  SmallVector<Value> emitStep(Value step, ValueRange sums) {
    // All but the newest groups have arrived: one is made in every step, at the
    // end empty ones.
    if (!async.empty())
      nvgpu::DeviceAsyncWaitOp::create(e, token,
                                       e.getI32IntegerAttr(ahead - 1));
    mlir::gpu::BarrierOp::create(e);
    // The next tile goes to the stage of the step before.
    Value isLeft, k, stage;
    SmallVector<SmallVector<Value>> read;
    if (plan.steps > ahead) {
      Value next = e.add(step, ahead);
      isLeft = e.isWithin(next, plan.steps);
      k = e.mul(next, plan.tile.getK());
      stage = e.rem(next, plan.tile.getStages());
      if (!async.empty())
        e.ifThen(isLeft, [&] { start(k, stage); });
      for (const TileCopy *copy : direct)
        read.push_back(e.ifElseZero(isLeft, copy->getReadTypes(e),
                                    [&] { return copy->read(e, k); }));
    }
    commit();
    SmallVector<Value> next =
        multiply.multiply(e, e.rem(step, plan.tile.getStages()), sums);
    if (!read.empty())
      e.ifThen(isLeft, [&] {
        for (auto [copy, values] : llvm::zip_equal(direct, read))
          copy->write(e, values, stage);
      });
    return next;
  }

  TileBuilder &e;
  const TilePlan &plan;
  ArrayRef<const TileCopy *> async, direct;
  const Multiply &multiply;
  int64_t ahead;
  Value token;
};
} // namespace

/// Adjacent blocks compute tiles that share operands: columns of some rows of
/// tiles.
static BlockPlace getBlockPlace(TileBuilder &e, const TilePlan &plan,
                                Value block) {
  int64_t rows = 8;
  while (plan.tilesM % rows != 0)
    rows /= 2;
  int64_t perBatch = plan.tilesM * plan.tilesN, perRows = rows * plan.tilesN;
  BlockPlace place;
  place.batch =
      plan.numBlocks == perBatch ? e.index(0) : e.div(block, perBatch);
  Value tile = plan.numBlocks == perBatch ? block : e.rem(block, perBatch);
  Value inRows = perRows == perBatch ? tile : e.rem(tile, perRows);
  Value row = e.rem(inRows, rows);
  if (perRows != perBatch)
    row = e.add(row, e.mul(e.div(tile, perRows), rows));
  place.m = e.mul(row, plan.tile.getM());
  place.n = e.mul(e.div(inRows, rows), plan.tile.getN());
  return place;
}

/// Stages of an operand as one line of shared memory.
static Value getShared(TileBuilder &e, Value all, int64_t begin,
                       const CopyPlan &copy, int64_t stages) {
  Value at = arith::ConstantIndexOp::create(e, begin);
  auto type = MemRefType::get({copy.getStageSize() * stages}, copy.element,
                              MemRefLayoutAttrInterface(),
                              cast<MemRefType>(all.getType()).getMemorySpace());
  return memref::ViewOp::create(e, type, all, at, ValueRange{});
}

/// True if offsets may not fit i32.
static bool isWide(const Problem &problem) {
  return llvm::any_of(problem.types, [](MemRefType type) {
    return type.getNumElements() > INT32_MAX / 2;
  });
}

void emitContract(OpBuilder &builder, ContractOp op, ValueRange operands,
                  Value tile) {
  Problem problem = Problem::get(op);
  TilePlan plan = TilePlan::get(problem, op.getTileAttr());
  if (plan.numBlocks == 0)
    return;
  TileBuilder e(op.getLoc(), builder, isWide(problem));
  Value thread = e.fromIndex(
      mlir::gpu::ThreadIdOp::create(e, mlir::gpu::Dimension::x).getResult());
  if (!tile)
    tile = mlir::gpu::BlockIdOp::create(e, mlir::gpu::Dimension::x);
  BlockPlace block = getBlockPlace(e, plan, e.fromIndex(tile));
  SmallVector<OperandPlaces> places;
  for (auto [number, operand] : llvm::enumerate(operands))
    places.emplace_back(e, problem, number, operand);

  auto space = mlir::gpu::AddressSpaceAttr::get(
      e.getContext(), mlir::gpu::AddressSpace::Workgroup);
  Value all = mlir::gpu::DynamicSharedMemoryOp::create(
      e, MemRefType::get({ShapedType::kDynamic}, e.getI8Type(),
                         MemRefLayoutAttrInterface(), space));
  int64_t stages = plan.tile.getStages();
  Value lhs = getShared(e, all, 0, plan.lhs, stages);
  Value rhs = getShared(e, all, plan.rhsBegin, plan.rhs, stages);
  TileCopy copyLHS(e, problem, plan, plan.lhs, places[problem.lhs], lhs, thread,
                   block);
  TileCopy copyRHS(e, problem, plan, plan.rhs, places[problem.rhs], rhs, thread,
                   block);
  SmallVector<const TileCopy *> async, direct;
  (plan.lhs.isAsync ? async : direct).push_back(&copyLHS);
  (plan.rhs.isAsync ? async : direct).push_back(&copyRHS);
  auto multiply = Multiply::create(e, plan, lhs, rhs, thread);
  SmallVector<Value> sums(multiply->getNumSums(),
                          e.zero(problem.getAccumulator()));
  sums = Steps(e, plan, async, direct, *multiply).emit(sums);
  sums = multiply->joinSlices(e, all, sums);
  storeTile(e, problem, plan, places, *multiply, block, all, thread, sums);
}

} // namespace mp::kernel
