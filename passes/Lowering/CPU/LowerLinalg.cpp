//===- LowerLinalg.cpp - Structured ops on buffers as loops ---------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Lowering/Passes.h"

#include "mp-opt/Codegen/CPU/LinalgToLoops.h"
#include "mp-opt/Codegen/Target/Target.h"
#include "mp-opt/Dialect/Kernel/Kernel.h"
#include "mp-opt/Dialect/Runtime/RuntimeOps.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Linalg/Utils/Utils.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace mp {
#define GEN_PASS_DEF_LOWERLINALG
#include "Lowering/Passes.h.inc"
} // namespace mp

using namespace mlir;
using namespace mp;

namespace {

struct LowerLinalg : public mp::impl::LowerLinalgBase<LowerLinalg> {
  using LowerLinalgBase::LowerLinalgBase;

  void runOnOperation() override;
};

} // namespace

/// A copy of memory, as the structured op that fills one from the other.
static void generalizeCopies(Operation *root, IRRewriter &rewriter) {
  SmallVector<memref::CopyOp> copies;
  root->walk([&](memref::CopyOp copy) { copies.push_back(copy); });
  for (memref::CopyOp copy : copies) {
    rewriter.setInsertionPoint(copy);
    linalg::makeMemRefCopyOp(rewriter, copy.getLoc(), copy.getSource(),
                             copy.getTarget());
    rewriter.eraseOp(copy);
  }
}

void LowerLinalg::runOnOperation() {
  int64_t rangeElements = getNumbers(getOperation()).rangeElements;
  IRRewriter rewriter(&getContext());
  SmallVector<scf::ForallOp> foralls;
  getOperation()->walk([&](scf::ForallOp op) { foralls.push_back(op); });
  for (scf::ForallOp op : foralls)
    lowerToLoops(rewriter, op, rangeElements);
  generalizeCopies(getOperation(), rewriter);
  kernel::lowerArgSelects(getOperation());
  SmallVector<linalg::LinalgOp> ops;
  getOperation()->walk([&](linalg::LinalgOp op) { ops.push_back(op); });
  for (linalg::LinalgOp op : ops) {
    rewriter.setInsertionPoint(op);
    if (failed(lowerToLoops(rewriter, op, rangeElements)))
      return signalPassFailure();
  }
}
