//===- SeparateTemporaries.cpp - Memory of its own for each use -----------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// CSE merges equal empty tensors into one value. That value would become one
// buffer that lives from the first use to the last, although it is empty most
// of the time. mp-plan-memory decides which values share memory; for that, it
// must know when each use begins and ends.
//
//===----------------------------------------------------------------------===//

#include "Lowering/Passes.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace mp {
#define GEN_PASS_DEF_SEPARATETEMPORARIES
#include "Lowering/Passes.h.inc"
} // namespace mp

using namespace mlir;

namespace {

struct SeparateTemporaries
    : public mp::impl::SeparateTemporariesBase<SeparateTemporaries> {
  using SeparateTemporariesBase::SeparateTemporariesBase;

  void runOnOperation() override {
    SmallVector<Operation *> fills, empties;
    getOperation()->walk([&](Operation *op) {
      if (isa<linalg::FillOp>(op) && op->getNumResults() == 1 &&
          op->getOperand(1).getDefiningOp<tensor::EmptyOp>())
        fills.push_back(op);
    });
    for (Operation *op : fills)
      separate(op);
    getOperation()->walk([&](tensor::EmptyOp op) { empties.push_back(op); });
    for (Operation *op : empties)
      separate(op);
  }

private:
  static void separate(Operation *op) {
    for (OpOperand &use : llvm::make_early_inc_range(op->getUses())) {
      // The copies are made outside of loops: inside, memory would be
      // allocated in each iteration.
      OpBuilder b(op->getBlock()->findAncestorOpInBlock(*use.getOwner()));
      use.set(b.clone(*op)->getResult(0));
    }
    op->erase();
  }
};

} // namespace
