//===- Timestamps.cpp - When kernels begin and end ------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An op of the model's own block is one kernel, which may be a loop around
// others. Before loops and calls are made, it is still known which nodes the op
// belongs to, and what it reads and writes.
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Codegen/CPU/Timestamps.h"

#include "mp-opt/Codegen/Common/MemoryAccesses.h"
#include "mp-opt/Codegen/Common/WorkCounter.h"
#include "mp-opt/Dialect/MP/AttributeNames.h"
#include "mp-opt/Dialect/Runtime/RuntimeOps.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace mp {

using device::WorkKind;

static bool isKernel(Operation &op, ArrayRef<Access> accesses) {
  return llvm::any_of(accesses,
                      [](const Access &access) { return access.isWrite; }) &&
         !isa<memref::AllocOp, memref::DeallocOp, runtime::OutputOp>(op);
}

static WorkKind getKind(Operation &op, ArrayRef<Access> accesses) {
  bool hasProducts = op.walk([](kernel::ContractOp) {
                         return WalkResult::interrupt();
                       }).wasInterrupted();
  if (hasProducts)
    return WorkKind::Product;
  if (isa<memref::CopyOp>(op))
    return WorkKind::Copy;
  for (const Access &access : accesses)
    if (access.isWrite && access.range.base.getDefiningOp<runtime::InputOp>())
      return WorkKind::Update;
  if (auto structured = dyn_cast<linalg::LinalgOp>(op))
    return structured.getNumReductionLoops() ? WorkKind::Sum : WorkKind::Map;
  return isa<scf::ForallOp>(op) ? WorkKind::Rows : WorkKind::Block;
}

/// Names of nodes, each once: that of the op, and those of the ops that have
/// been fused into it, whose arithmetic is inside.
static ArrayAttr getNodes(Operation &op) {
  llvm::SetVector<Attribute> names;
  op.walk<WalkOrder::PreOrder>([&](Operation *inner) {
    inner->getLoc()->walk([&](Location location) {
      auto named = dyn_cast<NameLoc>(location);
      if (!named)
        return WalkResult::advance();
      names.insert(named.getName());
      return WalkResult::skip();
    });
  });
  return ArrayAttr::get(op.getContext(), names.getArrayRef());
}

/// Only products of 16-bit factors count.
static int64_t getTensorCost(kernel::ContractOp op) {
  return op.getFactorType(0).getIntOrFloatBitWidth() == 16 ? 1 : 0;
}

static Attribute countWork(Operation &op, ArrayRef<Access> accesses) {
  WorkKind kind = getKind(op, accesses);
  WorkCounter counter(getTensorCost);
  bool isKnown = llvm::all_of(accesses, [](const Access &access) {
    return cast<MemRefType>(access.operand->get().getType()).hasStaticShape() &&
           cast<MemRefType>(getRoot(access.operand->get()).getType())
               .hasStaticShape();
  });
  if (isKnown)
    counter.add(&op);
  return counter.take(op.getContext(), kind);
}

void insertTimestamps(ModuleOp module) {
  auto main = module.lookupSymbol<func::FuncOp>("main");
  if (!main)
    return;
  Block &block = main.getBody().front();
  OpBuilder b = OpBuilder::atBlockBegin(&block);
  SmallVector<Attribute> kernels;
  runtime::TimestampOp::create(b, main.getLoc(), 0);
  for (Operation &op : llvm::make_early_inc_range(block)) {
    SmallVector<Access> accesses = findAccesses(&op);
    if (!isKernel(op, accesses))
      continue;
    kernels.push_back(
        b.getDictionaryAttr({b.getNamedAttr("nodes", getNodes(op)),
                             b.getNamedAttr("work", countWork(op, accesses))}));
    b.setInsertionPointAfter(&op);
    runtime::TimestampOp::create(b, op.getLoc(), int64_t(kernels.size()));
  }
  module->setAttr(mark::timestamped, b.getArrayAttr(kernels));
}

} // namespace mp
