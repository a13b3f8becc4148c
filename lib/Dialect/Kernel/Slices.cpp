//===- Slices.cpp - Contractions of which a part is used ------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The gradient of a strided convolution's weights is a convolution, too, whose
// result has room for more filter positions than exist: the rest is sliced
// away. If only c defines the size of a dimension, a smaller c is sufficient.
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Dialect/Kernel/Kernel.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;

namespace mp::kernel {

/// True if operands other than c have a dimension with the size of `dim`, or if
/// extra operands, which are read within bounds, depend on it.
static bool isSizedByOthers(ContractOp op, unsigned dim) {
  SmallVector<AffineMap> maps = op.getMaps();
  for (AffineMap map : ArrayRef(maps).take_front(2))
    if (llvm::is_contained(map.getResults(),
                           getAffineDimExpr(dim, op.getContext())))
      return true;
  return llvm::any_of(ArrayRef(maps).drop_front(2).drop_back(),
                      [&](AffineMap map) { return map.isFunctionOfDim(dim); });
}

namespace {

/// The part of a contraction that is computed if only a slice of c is used.
struct Slice {
  /// The sizes of c, and each dimension of the iteration as that of the slice
  /// plus its first value.
  SmallVector<OpFoldResult> sizes;
  SmallVector<AffineExpr> dims;
};

/// Slices a contraction whose only use is a slice.
struct SliceContract : public OpRewritePattern<tensor::ExtractSliceOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(tensor::ExtractSliceOp op,
                                PatternRewriter &b) const override;
};

} // namespace

/// The slice of `contract` that `op` needs, if it can be computed alone.
static FailureOr<Slice> findSlice(tensor::ExtractSliceOp op,
                                  ContractOp contract,
                                  SmallVector<OpFoldResult> have) {
  AffineMap stored = contract.getMaps().back();
  Slice slice;
  for (unsigned dim = 0; dim < stored.getNumDims(); ++dim)
    slice.dims.push_back(getAffineDimExpr(dim, op.getContext()));
  for (auto [axis, expr] : llvm::enumerate(stored.getResults())) {
    auto dim = dyn_cast<AffineDimExpr>(expr);
    if (!dim || !isOneInteger(op.getMixedStrides()[axis]))
      return failure();
    OpFoldResult offset = op.getMixedOffsets()[axis];
    OpFoldResult size = op.getMixedSizes()[axis];
    if (isZeroInteger(offset) && isEqualConstantIntOrValue(size, have[axis])) {
      slice.sizes.push_back(have[axis]);
      continue;
    }
    std::optional<int64_t> start = getConstantIntValue(offset);
    if (!start || op.isDynamicSize(axis) ||
        isSizedByOthers(contract, dim.getPosition()))
      return failure();
    slice.sizes.push_back(size);
    slice.dims[dim.getPosition()] = dim + *start;
  }
  if (decomposeMixedValues(slice.sizes).first != op.getType().getShape())
    return failure();
  return slice;
}

LogicalResult SliceContract::matchAndRewrite(tensor::ExtractSliceOp op,
                                             PatternRewriter &b) const {
  auto contract = op.getSource().getDefiningOp<ContractOp>();
  if (!contract || !contract->hasOneUse())
    return b.notifyMatchFailure(op, "a slice of no contraction of its own");
  auto init = contract.getC().getDefiningOp<tensor::EmptyOp>();
  if (!init || op.getType().getRank() != init.getType().getRank())
    return b.notifyMatchFailure(op, "of another rank, or of what is kept");
  auto slice = findSlice(op, contract, init.getMixedSizes());
  if (failed(slice))
    return b.notifyMatchFailure(op, "operands have the sizes of all");
  // The operands exist where the contraction is, and so do sizes that are not
  // static.
  b.setInsertionPoint(contract);
  Type element = op.getType().getElementType();
  Value c = tensor::EmptyOp::create(b, init.getLoc(), slice->sizes, element);
  SmallVector<AffineMap> maps = contract.getMaps();
  unsigned numDims = contract.getNumLoops();
  for (AffineMap &map : MutableArrayRef(maps).drop_back())
    map = map.replaceDimsAndSymbols(slice->dims, {}, numDims, 0);
  auto made =
      ContractOp::create(b, contract.getLoc(), contract.getA(), contract.getB(),
                         contract.getExtras(), contract.getSizes(), c, maps);
  made.copyRounding(contract);
  b.inlineRegionBefore(contract.getEpilogue(), made.getEpilogue(),
                       made.getEpilogue().begin());
  b.replaceOp(op, made.getResult());
  b.eraseOp(contract);
  return success();
}

void populateSlicePatterns(RewritePatternSet &patterns) {
  patterns.add<SliceContract>(patterns.getContext());
}

} // namespace mp::kernel
