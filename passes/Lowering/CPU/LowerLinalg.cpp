//===- LowerLinalg.cpp - Structured ops on buffers as loops ---------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Lowering/Passes.h"

#include "mp-opt/Codegen/CPU/LinalgToLoops.h"
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

/// Elements that a range of a parallel loop should have.
constexpr int64_t elementsOfRange = 16384;

/// A loop over rows: one parallel loop over all of its points.
static void convertForall(scf::ForallOp forall, IRRewriter &b) {
  b.setInsertionPoint(forall);
  Location loc = forall.getLoc();
  auto index = [&](OpFoldResult value) {
    return getValueOrCreateConstantIndexOp(b, loc, value);
  };
  int64_t row = 1;
  forall.getBody()->walk([&](linalg::LinalgOp op) {
    int64_t work = 1;
    for (int64_t extent : op.getStaticLoopRanges())
      work *= ShapedType::isDynamic(extent) ? 1 : extent;
    row = std::max(row, work);
  });
  SmallVector<Value> counts;
  Value count = arith::ConstantIndexOp::create(b, loc, 1);
  for (auto [lower, upper, step] :
       llvm::zip(forall.getMixedLowerBound(), forall.getMixedUpperBound(),
                 forall.getMixedStep())) {
    Value extent = arith::SubIOp::create(b, loc, index(upper), index(lower));
    counts.push_back(
        b.createOrFold<arith::CeilDivSIOp>(loc, extent, index(step)));
    count = b.createOrFold<arith::MulIOp>(loc, count, counts.back());
  }
  Value grain = arith::ConstantIndexOp::create(
      b, loc, std::max<int64_t>(1, elementsOfRange / row));
  auto parallel = runtime::ParallelOp::create(b, loc, count, grain);
  Type type = b.getIndexType();
  Block *block =
      b.createBlock(&parallel.getBody(), {}, {type, type}, {loc, loc});
  Value one = arith::ConstantIndexOp::create(b, loc, 1);
  auto loop = scf::ForOp::create(b, loc, block->getArgument(0),
                                 block->getArgument(1), one);
  b.setInsertionPointToStart(loop.getBody());
  Value position = loop.getInductionVar();
  SmallVector<Value> indices(counts.size());
  for (unsigned dim = counts.size(); dim-- > 0;) {
    Value i =
        dim == 0
            ? position
            : arith::RemUIOp::create(b, loc, position, counts[dim]).getResult();
    if (dim)
      position = arith::DivUIOp::create(b, loc, position, counts[dim]);
    i = b.createOrFold<arith::MulIOp>(loc, i,
                                      index(forall.getMixedStep()[dim]));
    indices[dim] = b.createOrFold<arith::AddIOp>(
        loc, i, index(forall.getMixedLowerBound()[dim]));
  }
  forall.getBody()->getTerminator()->erase();
  b.inlineBlockBefore(forall.getBody(), loop.getBody()->getTerminator(),
                      indices);
  b.eraseOp(forall);
}

void LowerLinalg::runOnOperation() {
  IRRewriter rewriter(&getContext());
  SmallVector<scf::ForallOp> foralls;
  getOperation()->walk([&](scf::ForallOp op) { foralls.push_back(op); });
  for (scf::ForallOp op : foralls)
    convertForall(op, rewriter);
  generalizeCopies(getOperation(), rewriter);
  SmallVector<linalg::LinalgOp> ops;
  getOperation()->walk([&](linalg::LinalgOp op) { ops.push_back(op); });
  for (linalg::LinalgOp op : ops) {
    rewriter.setInsertionPoint(op);
    if (failed(lowerToLoops(rewriter, op)))
      return signalPassFailure();
  }
}
