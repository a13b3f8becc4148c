//===- LowerFailures.cpp - How kernels fail -------------------------------
//===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Lowering/Passes.h"

#include "mp-opt/Dialect/Device/DeviceOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/RegionUtils.h"

namespace mp {
#define GEN_PASS_DEF_LOWERFAILURES
#include "Lowering/Passes.h.inc"
} // namespace mp

using namespace mlir;
using namespace mp;

namespace {
struct LowerFailures : public mp::impl::LowerFailuresBase<LowerFailures> {
  using LowerFailuresBase::LowerFailuresBase;

  void runOnOperation() override;
};
} // namespace

static void lower(IRRewriter &b, device::FailOp op) {
  Location loc = op.getLoc();
  Value control = op.getControl();
  auto number = [&](int64_t value) {
    return arith::ConstantIntOp::create(b, loc, value, 64);
  };
  auto store = [&](device::ControlWord word, Value value) {
    if (isa<IndexType>(value.getType()))
      value = arith::IndexCastOp::create(b, loc, b.getI64Type(), value);
    Value place = arith::ConstantIndexOp::create(b, loc, word);
    memref::StoreOp::create(b, loc, value, control, place);
  };
  b.setInsertionPoint(op);
  if (op.getEnds())
    store(device::HasEnded, number(1));
  Value flag = arith::ConstantIndexOp::create(b, loc, device::HasFailed);
  Value before = memref::AtomicRMWOp::create(
      b, loc, arith::AtomicRMWKind::assign, number(1), control, flag);
  Value isFirst = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq,
                                        before, number(0));
  Block *block = op->getBlock();
  Block *rest = b.splitBlock(block, std::next(Block::iterator(op)));
  // If the failure ends the kernel, the code after it becomes unreachable.
  Block *next = rest;
  if (op.getEnds()) {
    next = b.createBlock(rest);
    gpu::ReturnOp::create(b, loc);
  }
  Block *say = b.createBlock(next);
  store(device::ErrorText, number(op.getText() + 1));
  store(device::ErrorFirst, op.getFirst());
  store(device::ErrorSecond, op.getSecond());
  cf::BranchOp::create(b, loc, next);
  b.setInsertionPoint(op);
  cf::CondBranchOp::create(b, loc, isFirst, say, next);
  b.eraseOp(op);
}

void LowerFailures::runOnOperation() {
  IRRewriter rewriter(&getContext());
  SmallVector<device::FailOp> failures;
  getOperation().walk([&](device::FailOp op) { failures.push_back(op); });
  for (device::FailOp op : failures)
    lower(rewriter, op);
  if (!failures.empty())
    (void)eraseUnreachableBlocks(rewriter, getOperation()->getRegions());
}
