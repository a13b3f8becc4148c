//===- BlockCode.cpp - Code that the threads of a block run together ------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BlockCode.h"

#include "ContractCode.h"
#include "GenericCode.h"
#include "mp-opt/Dialect/Device/DeviceOps.h"
#include "mp-opt/Dialect/Kernel/Kernel.h"
#include "mp-opt/Dialect/Runtime/RuntimeOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace mp {

/// True for ops whose points threads can share.
static bool isStructured(Operation *op) {
  return isa<linalg::LinalgOp, kernel::ContractOp, scf::ForallOp,
             memref::CopyOp>(op);
}

bool isScalarCode(Block &block) {
  return !block
              .walk([](Operation *op) {
                return isStructured(op) ? WalkResult::interrupt()
                                        : WalkResult::advance();
              })
              .wasInterrupted();
}

static bool writesMemory(Operation *op) {
  return op
      ->walk([](Operation *inner) {
        return isStructured(inner) || isa<memref::StoreOp>(inner)
                   ? WalkResult::interrupt()
                   : WalkResult::advance();
      })
      .wasInterrupted();
}

void BlockCode::barrier(Operation *before) {
  b.setInsertionPoint(before);
  if (!isa_and_nonnull<gpu::BarrierOp>(before->getPrevNode()))
    gpu::BarrierOp::create(b, before->getLoc());
}

/// Code of single elements whose results are all in memory.
void BlockCode::emitByFirst(Operation *op) {
  b.setInsertionPoint(op);
  threads.byFirst(b, op->getLoc(), [&] {
    op->moveBefore(b.getInsertionBlock(), b.getInsertionPoint());
  });
}

int64_t getWidth(Block &block) {
  int64_t width = 1;
  block.walk([&](Operation *op) {
    int64_t points = 1;
    if (auto generic = dyn_cast<linalg::GenericOp>(op))
      for (int64_t extent : generic.getStaticLoopRanges())
        points *= extent;
    if (auto contract = dyn_cast<kernel::ContractOp>(op))
      points = countResults(contract);
    width = std::max(width, points);
  });
  return width;
}

void BlockCode::emitGeneric(linalg::GenericOp op) {
  GenericCode code(b, op);
  code.analyze();
  Location loc = op.getLoc();
  bool isTogether = code.canShare() && code.countReduced() >= warpSize &&
                    code.countOutputs() < threads.count;
  if (code.countReduced() == 0 || code.countOutputs() == 0) {
    // The outputs keep their values.
  } else if (isTogether) {
    b.setInsertionPoint(op);
    Threads all{makeIndex(b, loc, 0), 1};
    all.forEach(b, loc, code.countOutputs(), [&](Value output) {
      code.emitTogether(threads, shared, output);
      gpu::BarrierOp::create(b, loc);
    });
  } else if (op.getNumReductionLoops() > 0) {
    code.emitSerial(threads);
  } else {
    code.emitMap(threads);
  }
  b.eraseOp(op);
}

/// Runs one iteration after the other.
LogicalResult BlockCode::emitLoop(scf::ForallOp forall) {
  b.setInsertionPoint(forall);
  Location loc = forall.getLoc();
  SmallVector<Value> indices;
  for (auto [lower, upper, step] :
       llvm::zip(forall.getLowerBound(b), forall.getUpperBound(b),
                 forall.getStep(b))) {
    auto loop = scf::ForOp::create(b, loc, lower, upper, step);
    indices.push_back(loop.getInductionVar());
    b.setInsertionPointToStart(loop.getBody());
  }
  Block *target = b.getInsertionBlock();
  b.eraseOp(forall.getBody()->getTerminator());
  b.inlineBlockBefore(forall.getBody(), target, b.getInsertionPoint(), indices);
  b.eraseOp(forall);
  return emit(*target);
}

LogicalResult BlockCode::emitOp(Operation *op) {
  if (isa<memref::StoreOp>(op)) {
    barrier(op);
    Operation *next = op->getNextNode();
    emitByFirst(op);
    barrier(next);
    return success();
  }
  if (auto forall = dyn_cast<scf::ForallOp>(op))
    return emitLoop(forall);
  if (auto generic = dyn_cast<linalg::GenericOp>(op)) {
    Operation *next = op->getNextNode();
    barrier(op);
    emitGeneric(generic);
    barrier(next);
    return success();
  }
  if (auto contract = dyn_cast<kernel::ContractOp>(op)) {
    Operation *next = op->getNextNode();
    barrier(op);
    emitContractLoops(b, contract, threads);
    b.eraseOp(op);
    barrier(next);
    return success();
  }
  if (op->getNumRegions() == 0)
    return success();
  if (!isa<scf::SCFDialect>(op->getDialect()))
    return device::refuse(op, "'" + op->getName().getStringRef() + "'");
  // A loop over single elements, as sorting is.
  if (op->getNumResults() == 0 && writesMemory(op) &&
      llvm::all_of(op->getRegions(), [](Region &region) {
        return llvm::all_of(region,
                            [](Block &inner) { return isScalarCode(inner); });
      })) {
    Operation *next = op->getNextNode();
    barrier(op);
    emitByFirst(op);
    barrier(next);
    return success();
  }
  for (Region &region : op->getRegions())
    for (Block &inner : region)
      if (failed(emit(inner)))
        return failure();
  return success();
}

LogicalResult BlockCode::emit(Block &block) {
  SmallVector<Operation *> ops;
  for (Operation &op : block.without_terminator())
    ops.push_back(&op);
  for (Operation *op : ops)
    if (failed(emitOp(op)))
      return failure();
  return success();
}

} // namespace mp
