//===- ForallToLoops.cpp - Loops over rows --------------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Codegen/CPU/LinalgToLoops.h"

#include "mp-opt/Dialect/Runtime/RuntimeOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace mp {

void lowerToLoops(RewriterBase &b, scf::ForallOp forall,
                  int64_t rangeElements) {
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
      b, loc, std::max<int64_t>(1, rangeElements / row));
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

} // namespace mp
