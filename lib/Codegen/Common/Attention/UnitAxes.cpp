//===- UnitAxes.cpp - Matrices without axes of one element ----------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "UnitAxes.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/SmallBitVector.h"

using namespace mlir;

namespace mp {

/// The axes of `wide` that a reshape to or from fewer axes keeps; absent if it
/// joins or divides axes of more than one element.
static std::optional<SmallVector<unsigned>>
getKeptAxes(RankedTensorType wide, ArrayRef<ReassociationIndices> groups) {
  SmallVector<unsigned> kept;
  for (const ReassociationIndices &group : groups) {
    std::optional<unsigned> found;
    for (int64_t axis : group)
      if (wide.getDimSize(axis) != 1) {
        if (found)
          return std::nullopt;
        found = axis;
      }
    kept.push_back(found.value_or(group.front()));
  }
  return kept;
}

static AffineMap keepResults(AffineMap map, ArrayRef<unsigned> kept) {
  SmallVector<AffineExpr> results;
  for (unsigned axis : kept)
    results.push_back(map.getResult(axis));
  return AffineMap::get(map.getNumDims(), 0, results, map.getContext());
}

static bool hasShape(Value value, const std::set<SizesOfMatrix> &sizes) {
  ArrayRef<int64_t> shape = cast<RankedTensorType>(value.getType()).getShape();
  return sizes.count(shape.vec()) > 0;
}

/// Lets an operand be the matrix of which it is a reshape.
static void foldOperand(kernel::ContractOp op, unsigned number,
                        const std::set<SizesOfMatrix> &sizes) {
  SmallVector<AffineMap> maps = op.getMaps();
  auto expand = op->getOperand(number).getDefiningOp<tensor::ExpandShapeOp>();
  if (!expand || !hasShape(expand.getSrc(), sizes))
    return;
  auto kept =
      getKeptAxes(expand.getResultType(), expand.getReassociationIndices());
  if (!kept)
    return;
  // All results are dimensions: no element is read out of bounds.
  if (!llvm::all_of(maps[number].getResults(),
                    [](AffineExpr expr) { return isa<AffineDimExpr>(expr); }))
    return;
  maps[number] = keepResults(maps[number], *kept);
  op->setOperand(number, expand.getSrc());
  op.setIndexingMapsAttr(Builder(op.getContext()).getAffineMapArrayAttr(maps));
}

/// Lets a product compute the matrix that its only reader makes of its result.
static void foldResult(kernel::ContractOp op,
                       const std::set<SizesOfMatrix> &sizes) {
  if (!op->hasOneUse() || !op.getSizes().empty() ||
      !op.getC().getDefiningOp<tensor::EmptyOp>())
    return;
  auto collapse = dyn_cast<tensor::CollapseShapeOp>(*op->user_begin());
  if (!collapse || !hasShape(collapse.getResult(), sizes))
    return;
  auto kept =
      getKeptAxes(collapse.getSrcType(), collapse.getReassociationIndices());
  if (!kept)
    return;
  SmallVector<AffineMap> maps = op.getMaps();
  OpBuilder b(op);
  // Dimensions of dropped axes are 0, and are left out.
  unsigned count = maps.front().getNumDims(), left = 0;
  llvm::SmallBitVector isDropped(count);
  for (auto [axis, expr] : llvm::enumerate(maps.back().getResults())) {
    auto dim = dyn_cast<AffineDimExpr>(expr);
    if (!dim)
      return;
    if (!llvm::is_contained(*kept, axis))
      isDropped.set(dim.getPosition());
  }
  SmallVector<AffineExpr> dims;
  for (unsigned dim = 0; dim < count; ++dim)
    dims.push_back(isDropped[dim] ? b.getAffineConstantExpr(0)
                                  : b.getAffineDimExpr(left++));
  maps.back() = keepResults(maps.back(), *kept);
  for (AffineMap &map : maps)
    map = map.replaceDimsAndSymbols(dims, {}, left, 0);
  auto type = collapse.getResultType();
  Value empty = tensor::EmptyOp::create(b, op.getLoc(), type.getShape(),
                                        type.getElementType());
  auto made =
      kernel::ContractOp::create(b, op.getLoc(), op.getA(), op.getB(),
                                 op.getExtras(), ValueRange(), empty, maps);
  made.copyRounding(op);
  made.getEpilogue().takeBody(op.getEpilogue());
  collapse.getResult().replaceAllUsesWith(made.getResult());
  collapse.erase();
  op.erase();
}

void foldUnitAxes(func::FuncOp main, const std::set<SizesOfMatrix> &sizes) {
  SmallVector<kernel::ContractOp> products;
  main.walk([&](kernel::ContractOp op) { products.push_back(op); });
  for (kernel::ContractOp op : products) {
    for (unsigned number = 0; number < op.getMaps().size() - 1; ++number)
      foldOperand(op, number, sizes);
    foldResult(op, sizes);
  }
}

} // namespace mp
