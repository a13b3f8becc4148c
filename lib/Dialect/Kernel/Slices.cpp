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

//===----------------------------------------------------------------------===//
// Parts
//===----------------------------------------------------------------------===//

/// The least elements of a part's axis: the width of a tile.
constexpr int64_t minPart = 64;

namespace {
/// Splits a contraction whose only uses are slices along one axis, such as
/// queries, keys and values of one product, into one contraction for each.
struct SplitContract : public OpRewritePattern<ContractOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(ContractOp op,
                                PatternRewriter &b) const override;
};
} // namespace

/// The only axis of which `slice` does not take all; none if there are more, or
/// if its place is not known.
static std::optional<unsigned> getCutAxis(tensor::ExtractSliceOp slice) {
  RankedTensorType source = slice.getSourceType(), type = slice.getType();
  if (!slice.hasUnitStride() || source.getRank() != type.getRank() ||
      !slice.getOffsets().empty() || !slice.getSizes().empty())
    return std::nullopt;
  std::optional<unsigned> cut;
  for (auto [axis, have, size] :
       llvm::enumerate(source.getShape(), type.getShape())) {
    if (have == size)
      continue;
    if (cut || ShapedType::isDynamic(have))
      return std::nullopt;
    cut = axis;
  }
  return cut;
}

/// Adds the ops that read `value` or a reshape of it.
static void findReaders(Value value,
                        llvm::SmallPtrSetImpl<Operation *> &found) {
  for (Operation *user : value.getUsers())
    if (isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp>(user))
      findReaders(user->getResult(0), found);
    else
      found.insert(user);
}

/// True if a contraction for each part takes away as many ops as it adds. The
/// gates of a recurrent cell are four parts that one or two ops read.
static bool haveOwnReaders(ArrayRef<tensor::ExtractSliceOp> parts) {
  llvm::SmallPtrSet<Operation *, 8> readers;
  for (tensor::ExtractSliceOp part : parts)
    findReaders(part.getResult(), readers);
  return parts.size() <= readers.size() + 1;
}

/// The slices that are all uses of `op`, if they are apart on one axis, and
/// each is worth a kernel of its own; that axis.
static std::optional<unsigned>
getParts(ContractOp op, SmallVectorImpl<tensor::ExtractSliceOp> &parts) {
  std::optional<unsigned> axis;
  for (Operation *user : op->getUsers()) {
    auto slice = dyn_cast<tensor::ExtractSliceOp>(user);
    std::optional<unsigned> cut = slice ? getCutAxis(slice) : std::nullopt;
    if (!cut || (axis && *cut != *axis))
      return std::nullopt;
    axis = cut;
    int64_t offset = slice.getStaticOffset(*cut);
    // Rows of tiles begin at multiples of 16 bytes.
    if (offset % 8 != 0 || slice.getType().getDimSize(*cut) < minPart)
      return std::nullopt;
    parts.push_back(slice);
  }
  if (parts.size() < 2 || !haveOwnReaders(parts))
    return std::nullopt;
  llvm::sort(parts, [&](tensor::ExtractSliceOp a, tensor::ExtractSliceOp b) {
    return a.getStaticOffset(*axis) < b.getStaticOffset(*axis);
  });
  for (unsigned i = 1; i < parts.size(); ++i)
    if (parts[i - 1].getStaticOffset(*axis) +
            parts[i - 1].getType().getDimSize(*axis) >
        parts[i].getStaticOffset(*axis))
      return std::nullopt;
  return axis;
}

LogicalResult SplitContract::matchAndRewrite(ContractOp op,
                                             PatternRewriter &b) const {
  SmallVector<tensor::ExtractSliceOp> parts;
  std::optional<unsigned> axis = getParts(op, parts);
  if (!axis || !op.getC().getDefiningOp<tensor::EmptyOp>() ||
      !op.getSizes().empty())
    return b.notifyMatchFailure(op, "not in parts of an axis");
  SmallVector<AffineMap> maps = op.getMaps();
  AffineExpr dim = maps.back().getResult(*axis);
  if (!isa<AffineDimExpr>(dim))
    return b.notifyMatchFailure(op, "stored with strides");
  unsigned position = cast<AffineDimExpr>(dim).getPosition();
  for (AffineMap map : maps)
    if (!llvm::all_of(map.getResults(), [&](AffineExpr expr) {
          return expr == dim || !expr.isFunctionOfDim(position);
        }))
      return b.notifyMatchFailure(op, "operands with windows on the axis");
  for (tensor::ExtractSliceOp part : parts) {
    // Each operand's part: that of the slice on axes of the dimension.
    auto cut = [&](Value operand, AffineMap map) -> Value {
      auto type = cast<RankedTensorType>(operand.getType());
      if (!map.isFunctionOfDim(position))
        return operand;
      SmallVector<OpFoldResult> offsets, sizes;
      for (auto [i, expr] : llvm::enumerate(map.getResults())) {
        bool isCut = expr == dim;
        offsets.push_back(
            b.getIndexAttr(isCut ? part.getStaticOffset(*axis) : 0));
        sizes.push_back(
            isCut
                ? OpFoldResult(b.getIndexAttr(part.getType().getDimSize(*axis)))
                : tensor::getMixedSize(b, op.getLoc(), operand, i));
      }
      SmallVector<OpFoldResult> strides(type.getRank(), b.getIndexAttr(1));
      return tensor::ExtractSliceOp::create(b, op.getLoc(), operand, offsets,
                                            sizes, strides);
    };
    SmallVector<Value> extras;
    for (auto [extra, map] :
         llvm::zip(op.getExtras(), ArrayRef(maps).drop_front(2)))
      extras.push_back(cut(extra, map));
    Value empty = tensor::EmptyOp::create(b, op.getLoc(), part.getMixedSizes(),
                                          part.getType().getElementType());
    auto made = ContractOp::create(b, op.getLoc(), cut(op.getA(), maps[0]),
                                   cut(op.getB(), maps[1]), extras,
                                   ValueRange(), empty, maps);
    made.copyRounding(op);
    b.cloneRegionBefore(op.getEpilogue(), made.getEpilogue(),
                        made.getEpilogue().begin());
    b.replaceOp(part, made.getResult());
  }
  b.eraseOp(op);
  return success();
}

void populateSlicePatterns(RewritePatternSet &patterns) {
  patterns.add<SliceContract>(patterns.getContext());
}

void populateSplitPatterns(RewritePatternSet &patterns) {
  patterns.add<SplitContract>(patterns.getContext());
}

} // namespace mp::kernel
