//===- OutOfBoundsPositions.cpp - Filter positions in the padding ---------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// If 3 x 3 filter positions are 24 elements apart, eight of them are outside of
// an image of 14 x 14 for all results: elements outside are zero, and add
// nothing.
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Dialect/Kernel/ContractShape.h"
#include "mp-opt/Dialect/Kernel/Windows.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;

namespace mp::kernel {

namespace {

/// The part of a dimension of the sum that counts: `size` filter positions from
/// `first` on. It is `axis` of operand `weight`, 0 or 1.
struct PositionRange {
  unsigned dim, weight, axis;
  int64_t first, size;
};

/// Removes the filter positions that read nothing from a contraction.
struct CutOutOfBoundsPositions : public OpRewritePattern<ContractOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(ContractOp op,
                                PatternRewriter &b) const override;
};

} // namespace

/// The filter positions of `loop` that reach one of `extent` elements, if
/// others do not.
static std::optional<PositionRange> findRange(const OperandAxis &axis,
                                              AxisLoop loop,
                                              ArrayRef<int64_t> sizes,
                                              int64_t extent) {
  int64_t low = axis.offset, high = axis.offset;
  for (auto [dim, step] : axis.getLoops()) {
    if (dim == loop.dim)
      continue;
    if (ShapedType::isDynamic(sizes[dim]) || sizes[dim] < 1)
      return std::nullopt;
    (step > 0 ? high : low) += step * (sizes[dim] - 1);
  }
  auto reaches = [&](int64_t position) {
    int64_t shift = loop.step * position;
    return high + shift >= 0 && low + shift < extent;
  };
  PositionRange range{loop.dim, 0, 0, 0, sizes[loop.dim]};
  while (range.size > 1 && !reaches(range.first)) {
    ++range.first;
    --range.size;
  }
  while (range.size > 1 && !reaches(range.first + range.size - 1))
    --range.size;
  if (range.size == sizes[loop.dim])
    return std::nullopt;
  return range;
}

static std::optional<PositionRange> findRange(ContractOp op) {
  SmallVector<AffineMap> maps = op.getMaps();
  SmallVector<int64_t> sizes = getStaticSizes(op);
  for (unsigned image : {0, 1}) {
    auto type = dyn_cast<RankedTensorType>(op->getOperand(image).getType());
    if (!type)
      continue;
    for (const OperandAxis &axis : getOperandAxes(maps, image)) {
      if (type.isDynamicDim(axis.position) || axis.getPlainLoop())
        continue;
      for (AxisLoop loop : axis.summed) {
        auto weightAxis = findPlainAxis(maps[1 - image], loop.dim);
        if (!weightAxis || ShapedType::isDynamic(sizes[loop.dim]))
          continue;
        auto range =
            findRange(axis, loop, sizes, type.getDimSize(axis.position));
        if (!range)
          continue;
        range->weight = 1 - image;
        range->axis = *weightAxis;
        return range;
      }
    }
  }
  return std::nullopt;
}

LogicalResult
CutOutOfBoundsPositions::matchAndRewrite(ContractOp op,
                                         PatternRewriter &b) const {
  std::optional<PositionRange> range = findRange(op);
  if (!range)
    return b.notifyMatchFailure(op, "all filter positions reach elements");
  Value weight = op->getOperand(range->weight);
  Location loc = op.getLoc();
  SmallVector<OpFoldResult> sizes = tensor::getMixedSizes(b, loc, weight);
  SmallVector<OpFoldResult> offsets(sizes.size(), b.getIndexAttr(0));
  SmallVector<OpFoldResult> strides(sizes.size(), b.getIndexAttr(1));
  offsets[range->axis] = b.getIndexAttr(range->first);
  sizes[range->axis] = b.getIndexAttr(range->size);
  Value cut =
      tensor::ExtractSliceOp::create(b, loc, weight, offsets, sizes, strides);
  SmallVector<AffineMap> maps = op.getMaps();
  SmallVector<AffineExpr> dims;
  for (unsigned dim = 0; dim < op.getNumLoops(); ++dim)
    dims.push_back(b.getAffineDimExpr(dim));
  dims[range->dim] = dims[range->dim] + range->first;
  AffineMap &image = maps[1 - range->weight];
  image =
      simplifyAffineMap(image.replaceDimsAndSymbols(dims, {}, dims.size(), 0));
  b.modifyOpInPlace(op, [&] {
    op->setOperand(range->weight, cut);
    op.setIndexingMapsAttr(b.getAffineMapArrayAttr(maps));
  });
  return success();
}

void populateOutOfBoundsPositionPatterns(RewritePatternSet &patterns) {
  // Applies after all patterns that fuse casts of weights.
  patterns.add<CutOutOfBoundsPositions>(patterns.getContext(), /*benefit=*/0);
}

} // namespace mp::kernel
