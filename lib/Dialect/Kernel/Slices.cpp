//===- Slices.cpp - Contractions of which a part is used ------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The gradient of a strided convolution's weights is a convolution, too, whose
// result has room for more taps than there are: the rest is sliced away. Where
// only c says how big a dimension is, a smaller c is all that is needed.
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Dialect/Kernel/Kernel.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;

namespace mp::kernel {

/// Whether other dimensions of operands than c's have the size of `dim`, or
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

/// What a contraction has to compute where only a slice of c is used.
struct Slice {
  /// Of c, and for each dimension of the iteration its first value.
  SmallVector<OpFoldResult> sizes;
  SmallVector<AffineExpr> dims;
};

/// A contraction, and a slice that is all that uses it.
struct SliceContract : public OpRewritePattern<tensor::ExtractSliceOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(tensor::ExtractSliceOp op,
                                PatternRewriter &b) const override;
};

} // namespace

/// What `op` needs of `contract`, if it can be had without the rest.
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
  // Its operands are there at its own place, and sizes that are not known.
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
