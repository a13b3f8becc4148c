//===- Builders.cpp - Products and convolutions as contractions -----------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Dialect/Kernel/Kernel.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;

namespace mp::kernel {

static Value castFloat(OpBuilder &builder, Location loc, Value value,
                       Type type) {
  unsigned from = value.getType().getIntOrFloatBitWidth();
  unsigned to = type.getIntOrFloatBitWidth();
  if (value.getType() == type)
    return value;
  if (from < to)
    return arith::ExtFOp::create(builder, loc, type, value);
  if (from > to)
    return arith::TruncFOp::create(builder, loc, type, value);
  Value wide = arith::ExtFOp::create(builder, loc, builder.getF32Type(), value);
  return arith::TruncFOp::create(builder, loc, type, wide);
}

ContractOp createContract(OpBuilder &builder, Location loc, Value a, Value b,
                          Value c, ArrayRef<AffineMap> maps,
                          ArrayRef<Extra> extras, Epilogue epilogue,
                          ValueRange sizes) {
  SmallVector<Value> values;
  SmallVector<AffineMap> all{maps[0], maps[1]};
  for (const Extra &extra : extras) {
    values.push_back(extra.value);
    all.push_back(extra.map);
  }
  all.push_back(maps[2]);
  auto op = ContractOp::create(builder, loc, a, b, values, sizes, c, all);
  OpBuilder::InsertionGuard guard(builder);
  Block *block = builder.createBlock(&op.getEpilogue());
  Value sum = block->addArgument(op.getAccumulatorType(), loc);
  for (Value value : values)
    block->addArgument(getElementTypeOrSelf(value.getType()), loc);
  Value element = sum;
  if (epilogue)
    element = epilogue(builder, loc, sum,
                       ValueRange(block->getArguments()).drop_front());
  element = castFloat(builder, loc, element, getElementTypeOrSelf(c.getType()));
  YieldOp::create(builder, loc, element);
  return op;
}

/// An operand of a matrix product: its leading dimensions, aligned with c's,
/// then `row` and `column`.
static AffineMap getMatrixMap(ShapedType type, ShapedType c, AffineExpr row,
                              AffineExpr column) {
  MLIRContext *context = row.getContext();
  int64_t batches = c.getRank() - 2, own = type.getRank() - 2;
  SmallVector<AffineExpr> results;
  for (int64_t i = 0; i < own; ++i) {
    int64_t dim = batches - own + i;
    bool broadcast = type.getDimSize(i) == 1 && c.getDimSize(dim) != 1;
    results.push_back(broadcast ? getAffineConstantExpr(0, context)
                                : getAffineDimExpr(dim, context));
  }
  results.append({row, column});
  return AffineMap::get(c.getRank() + 1, 0, results, context);
}

SmallVector<AffineMap> getMatmulMaps(ShapedType a, ShapedType b, ShapedType c,
                                     bool transposeA, bool transposeB) {
  MLIRContext *context = c.getContext();
  int64_t rank = c.getRank();
  AffineExpr m = getAffineDimExpr(rank - 2, context);
  AffineExpr n = getAffineDimExpr(rank - 1, context);
  AffineExpr k = getAffineDimExpr(rank, context);
  return {getMatrixMap(a, c, transposeA ? k : m, transposeA ? m : k),
          getMatrixMap(b, c, transposeB ? n : k, transposeB ? k : n),
          getMatrixMap(c, c, m, n)};
}

namespace {
/// The dimensions of a convolution: n, (g,) outer channel, space, inner
/// channel, window.
struct ConvDims {
  ConvDims(MLIRContext *context, unsigned spatialRank, const Window &window)
      : window(window) {
    unsigned next = 0;
    auto take = [&] { return getAffineDimExpr(next++, context); };
    batch.push_back(take());
    if (window.grouped)
      group.push_back(take());
    outer = take();
    for (unsigned i = 0; i < spatialRank; ++i)
      space.push_back(take());
    inner = take();
    for (unsigned i = 0; i < spatialRank; ++i)
      filter.push_back(take());
    numDims = next;
  }

  AffineMap makeMap(ArrayRef<ArrayRef<AffineExpr>> parts) const {
    return AffineMap::get(numDims, 0,
                          llvm::to_vector(llvm::concat<const AffineExpr>(
                              parts[0], parts[1], parts[2], parts[3])),
                          inner.getContext());
  }
  static int64_t get(ArrayRef<int64_t> values, unsigned index, int64_t other) {
    return values.empty() ? other : values[index];
  }

  Window window;
  SmallVector<AffineExpr> batch, group, space, filter;
  AffineExpr outer, inner;
  unsigned numDims;
};
} // namespace

SmallVector<AffineMap> getConvMaps(MLIRContext *context, unsigned spatialRank,
                                   const Window &window) {
  ConvDims dims(context, spatialRank, window);
  SmallVector<AffineExpr> places;
  for (unsigned i = 0; i < spatialRank; ++i)
    places.push_back(dims.space[i] * ConvDims::get(window.strides, i, 1) +
                     dims.filter[i] * ConvDims::get(window.dilations, i, 1) -
                     ConvDims::get(window.padsBegin, i, 0));
  return {dims.makeMap({dims.batch, dims.group, dims.inner, places}),
          dims.makeMap({dims.group, {dims.outer, dims.inner}, dims.filter, {}}),
          dims.makeMap({dims.batch, dims.group, dims.outer, dims.space})};
}

SmallVector<AffineMap> getConvInputGradientMaps(MLIRContext *context,
                                                unsigned spatialRank,
                                                const Window &window) {
  ConvDims dims(context, spatialRank, window);
  SmallVector<AffineExpr> places;
  for (unsigned i = 0; i < spatialRank; ++i)
    places.push_back(dims.space[i] -
                     dims.filter[i] * ConvDims::get(window.dilations, i, 1) +
                     ConvDims::get(window.padsBegin, i, 0));
  return {dims.makeMap({dims.batch, dims.group, dims.inner, places}),
          dims.makeMap({dims.group, {dims.inner, dims.outer}, dims.filter, {}}),
          dims.makeMap({dims.batch, dims.group, dims.outer, dims.space})};
}

std::optional<double> countFlops(Operation *root) {
  double total = 0;
  bool isKnown = true;
  root->walk([&](ContractOp op) {
    double count = 2;
    SmallVector<Value> operands = op.getMappedOperands();
    for (auto [operand, dim] : op.getSizeSources()) {
      std::optional<int64_t> size;
      if (operand < 0)
        size = getConstantIntValue(op.getSizes()[dim]);
      else if (auto type = cast<ShapedType>(operands[operand].getType());
               !type.isDynamicDim(dim))
        size = type.getDimSize(dim);
      isKnown &= size.has_value();
      count *= double(size.value_or(1));
    }
    total += count;
  });
  return isKnown ? std::optional(total) : std::nullopt;
}

} // namespace mp::kernel
