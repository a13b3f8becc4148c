//===- IdleTaps.cpp - Taps that reach no element --------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// If 3 x 3 taps are 24 elements apart, eight of them are outside of an image of
// 14 x 14 for all results: elements outside are zero, and add nothing.
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Dialect/Kernel/ContractShape.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;

namespace mp::kernel {

namespace {

/// The part of a dimension of the sum that counts: `size` taps from `first` on.
/// It is `axis` of operand `weight`, 0 or 1.
struct Taps {
  unsigned dim, weight, axis;
  int64_t first, size;
};

/// Removes the taps that read nothing from a contraction.
struct CutIdleTaps : public OpRewritePattern<ContractOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(ContractOp op,
                                PatternRewriter &b) const override;
};

} // namespace

/// The taps of `dim` that reach elements, if others do not. `form` is the
/// coordinate, `extent` the number of elements.
static std::optional<Taps> findTaps(const LinearForm &form, unsigned dim,
                                    ArrayRef<int64_t> sizes, int64_t extent) {
  int64_t low = form.constant, high = form.constant;
  for (auto [other, factor] : llvm::enumerate(form.factors)) {
    if (factor == 0 || other == dim)
      continue;
    if (ShapedType::isDynamic(sizes[other]) || sizes[other] < 1)
      return std::nullopt;
    (factor > 0 ? high : low) += factor * (sizes[other] - 1);
  }
  auto reaches = [&](int64_t tap) {
    int64_t shift = form.factors[dim] * tap;
    return high + shift >= 0 && low + shift < extent;
  };
  Taps taps{dim, 0, 0, 0, sizes[dim]};
  while (taps.size > 1 && !reaches(taps.first)) {
    ++taps.first;
    --taps.size;
  }
  while (taps.size > 1 && !reaches(taps.first + taps.size - 1))
    --taps.size;
  if (taps.size == sizes[dim])
    return std::nullopt;
  return taps;
}

static std::optional<Taps> findTaps(ContractOp op) {
  SmallVector<AffineMap> maps = op.getMaps();
  SmallVector<int64_t> sizes = getStaticSizes(op);
  for (unsigned image : {0, 1}) {
    auto type = dyn_cast<RankedTensorType>(op->getOperand(image).getType());
    for (auto [position, expr] : llvm::enumerate(maps[image].getResults())) {
      auto form = getLinearForm(expr, sizes.size());
      if (!type || type.isDynamicDim(position) || !form ||
          form->getSingleDim() >= 0)
        continue;
      for (unsigned dim = 0; dim < sizes.size(); ++dim) {
        auto axis = findPlainAxis(maps[1 - image], dim);
        bool isSummed = !maps.back().isFunctionOfDim(dim);
        if (form->factors[dim] == 0 || !axis || !isSummed ||
            ShapedType::isDynamic(sizes[dim]))
          continue;
        auto taps = findTaps(*form, dim, sizes, type.getDimSize(position));
        if (!taps)
          continue;
        taps->weight = 1 - image;
        taps->axis = *axis;
        return taps;
      }
    }
  }
  return std::nullopt;
}

LogicalResult CutIdleTaps::matchAndRewrite(ContractOp op,
                                           PatternRewriter &b) const {
  std::optional<Taps> taps = findTaps(op);
  if (!taps)
    return b.notifyMatchFailure(op, "all taps reach elements");
  Value weight = op->getOperand(taps->weight);
  Location loc = op.getLoc();
  SmallVector<OpFoldResult> sizes = tensor::getMixedSizes(b, loc, weight);
  SmallVector<OpFoldResult> offsets(sizes.size(), b.getIndexAttr(0));
  SmallVector<OpFoldResult> strides(sizes.size(), b.getIndexAttr(1));
  offsets[taps->axis] = b.getIndexAttr(taps->first);
  sizes[taps->axis] = b.getIndexAttr(taps->size);
  Value cut =
      tensor::ExtractSliceOp::create(b, loc, weight, offsets, sizes, strides);
  SmallVector<AffineMap> maps = op.getMaps();
  SmallVector<AffineExpr> dims;
  for (unsigned dim = 0; dim < op.getNumLoops(); ++dim)
    dims.push_back(b.getAffineDimExpr(dim));
  dims[taps->dim] = dims[taps->dim] + taps->first;
  AffineMap &image = maps[1 - taps->weight];
  image =
      simplifyAffineMap(image.replaceDimsAndSymbols(dims, {}, dims.size(), 0));
  b.modifyOpInPlace(op, [&] {
    op->setOperand(taps->weight, cut);
    op.setIndexingMapsAttr(b.getAffineMapArrayAttr(maps));
  });
  return success();
}

void populateIdleTapPatterns(RewritePatternSet &patterns) {
  // Applies after all patterns that fuse casts of weights.
  patterns.add<CutIdleTaps>(patterns.getContext(), /*benefit=*/0);
}

} // namespace mp::kernel
