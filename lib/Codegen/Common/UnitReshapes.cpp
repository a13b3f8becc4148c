//===- UnitReshapes.cpp - Reshapes that add or drop ones ------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Codegen/Common/UnitReshapes.h"

#include "mp-opt/Dialect/Kernel/Kernel.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;

namespace mp {

/// The indices of a reshape's source at the indices `exprs` of its result;
/// absent if axes larger than one are joined or divided.
static std::optional<SmallVector<AffineExpr>>
getSourceIndices(Operation *reshape, ArrayRef<AffineExpr> exprs) {
  SmallVector<ReassociationIndices> groups;
  bool isExpand = isa<tensor::ExpandShapeOp>(reshape);
  if (auto expand = dyn_cast<tensor::ExpandShapeOp>(reshape))
    groups = expand.getReassociationIndices();
  else
    groups = cast<tensor::CollapseShapeOp>(reshape).getReassociationIndices();
  Value source = reshape->getOperand(0), result = reshape->getResult(0);
  auto divided = cast<RankedTensorType>((isExpand ? result : source).getType());
  MLIRContext *context = reshape->getContext();
  SmallVector<AffineExpr> found(
      cast<RankedTensorType>(source.getType()).getRank(),
      getAffineConstantExpr(0, context));
  for (auto [axis, group] : llvm::enumerate(groups)) {
    int64_t kept = -1;
    for (int64_t inner : group) {
      if (divided.getDimSize(inner) == 1)
        continue;
      if (kept >= 0)
        return std::nullopt;
      kept = inner;
    }
    if (kept >= 0)
      (isExpand ? found[axis] : found[kept]) =
          isExpand ? exprs[kept] : exprs[axis];
  }
  return found;
}

/// Groups each axis larger than one with the axes of size one before it; the
/// last group has those after it, too.
static SmallVector<ReassociationIndices> groupUnits(RankedTensorType type) {
  SmallVector<ReassociationIndices> groups;
  ReassociationIndices group;
  for (int64_t axis = 0; axis < type.getRank(); ++axis) {
    group.push_back(axis);
    if (type.getDimSize(axis) == 1)
      continue;
    groups.push_back(group);
    group.clear();
  }
  if (!groups.empty())
    llvm::append_range(groups.back(), group);
  return groups;
}

/// True for the only reader of a product. The op after such a reshape becomes a
/// part of the product, with its axes of size one.
static bool isOfProduct(Operation *reshape) {
  Value source = reshape->getOperand(0);
  return source.hasOneUse() && source.getDefiningOp<kernel::ContractOp>();
}

/// True for an operand that has one element for each index of one loop, which
/// is not the innermost one: a number for each channel of an image.
static bool isLineVector(linalg::GenericOp op, AffineMap map) {
  SmallVector<int64_t> extents = op.getStaticLoopRanges();
  while (!extents.empty() && extents.back() == 1)
    extents.pop_back();
  SmallVector<unsigned> dims;
  for (auto [dim, extent] : llvm::enumerate(extents))
    if (extent != 1 && map.isFunctionOfDim(dim))
      dims.push_back(dim);
  return dims.size() == 1 && dims.front() + 1 != extents.size();
}

static void foldOperands(linalg::GenericOp op, bool vectorsOnly) {
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  for (OpOperand *operand : op.getDpsInputOperands()) {
    Operation *reshape = operand->get().getDefiningOp();
    while (reshape &&
           isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp>(reshape) &&
           !isOfProduct(reshape)) {
      AffineMap &map = maps[operand->getOperandNumber()], old = map;
      if (vectorsOnly && !isLineVector(op, map))
        break;
      auto exprs = getSourceIndices(reshape, map.getResults());
      if (!exprs)
        break;
      map = AffineMap::get(map.getNumDims(), 0, *exprs, op.getContext());
      // Some operand has to define the extent of each loop.
      if (!inversePermutation(concatAffineMaps(maps, op.getContext()))) {
        map = old;
        break;
      }
      operand->set(reshape->getOperand(0));
      if (reshape->use_empty())
        reshape->erase();
      reshape = operand->get().getDefiningOp();
    }
  }
  OpBuilder b(op.getContext());
  op.setIndexingMapsAttr(b.getAffineMapArrayAttr(maps));
}

/// Makes an elementwise op without the loops and axes of size one of its
/// result, of which other readers read a reshape; null for other ops.
static Value makeWithoutOnes(linalg::GenericOp op) {
  if (!op || op->getNumResults() != 1 || !op.hasPureTensorSemantics() ||
      op.getNumParallelLoops() != op.getNumLoops() || op.hasIndexSemantics() ||
      !op.getIndexingMapsArray().back().isIdentity() ||
      op.payloadUsesValueFromOperand(op.getDpsInitOperand(0)))
    return Value();
  auto type = cast<RankedTensorType>(op.getResult(0).getType());
  OpBuilder b(op);
  SmallVector<AffineExpr> dims;
  SmallVector<int64_t> shape;
  SmallVector<OpFoldResult> sizes;
  for (auto [axis, size] : llvm::enumerate(type.getShape())) {
    dims.push_back(size == 1 ? b.getAffineConstantExpr(0)
                             : b.getAffineDimExpr(shape.size()));
    if (size == 1)
      continue;
    shape.push_back(size);
    sizes.push_back(
        tensor::getMixedSize(b, op.getLoc(), op.getOutputs().front(), axis));
  }
  unsigned rank = shape.size();
  SmallVector<AffineMap> maps;
  SmallVector<AffineMap> old = op.getIndexingMapsArray();
  for (AffineMap map : ArrayRef(old).drop_back())
    maps.push_back(map.replaceDimsAndSymbols(dims, {}, rank, 0));
  maps.push_back(b.getMultiDimIdentityMap(rank));
  Value empty =
      tensor::EmptyOp::create(b, op.getLoc(), sizes, type.getElementType());
  SmallVector<utils::IteratorType> iterators(rank,
                                             utils::IteratorType::parallel);
  auto made = linalg::GenericOp::create(
      b, op.getLoc(), TypeRange{type.clone(shape)}, op.getInputs(),
      ValueRange{empty}, maps, iterators);
  made.getRegion().takeBody(op.getRegion());
  Value expanded = tensor::ExpandShapeOp::create(
      b, op.getLoc(), type, made.getResult(0), groupUnits(type));
  op.getResult(0).replaceAllUsesWith(expanded);
  op.erase();
  return made.getResult(0);
}

/// Drops operands' own axes of size one along which they are spread: patterns
/// that move reshapes do not support constants in maps.
static void dropOnes(linalg::GenericOp op) {
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  OpBuilder b(op);
  for (OpOperand *operand : op.getDpsInputOperands()) {
    AffineMap &map = maps[operand->getOperandNumber()];
    auto type = dyn_cast<RankedTensorType>(operand->get().getType());
    if (!type || llvm::none_of(map.getResults(), [](AffineExpr expr) {
          return isa<AffineConstantExpr>(expr);
        }))
      continue;
    SmallVector<int64_t> shape;
    SmallVector<AffineExpr> exprs;
    for (auto [size, expr] : llvm::zip_equal(type.getShape(), map.getResults()))
      if (size != 1) {
        shape.push_back(size);
        exprs.push_back(expr);
      }
    AffineMap old = map;
    map = AffineMap::get(map.getNumDims(), 0, exprs, op.getContext());
    if (!inversePermutation(concatAffineMaps(maps, op.getContext()))) {
      map = old;
      continue;
    }
    Value value =
        makeWithoutOnes(operand->get().getDefiningOp<linalg::GenericOp>());
    if (!value)
      value = tensor::CollapseShapeOp::create(b, op.getLoc(), type.clone(shape),
                                              operand->get(), groupUnits(type));
    operand->set(value);
  }
  op.setIndexingMapsAttr(b.getAffineMapArrayAttr(maps));
}

/// A copy that only moves, adds or drops ones is a reshape.
static void foldCopy(linalg::GenericOp op) {
  if (op.getNumDpsInputs() != 1 || op->getNumResults() != 1 ||
      op.getNumParallelLoops() != op.getNumLoops() ||
      !llvm::hasSingleElement(*op.getBody()) ||
      op.getBody()->getTerminator()->getOperand(0) !=
          op.getBody()->getArgument(0))
    return;
  Value source = op.getInputs().front();
  auto from = dyn_cast<RankedTensorType>(source.getType());
  auto to = dyn_cast<RankedTensorType>(op.getResult(0).getType());
  if (!from || !to || from.getElementType() != to.getElementType())
    return;
  auto getOrder = [](RankedTensorType type, AffineMap map) {
    SmallVector<AffineExpr> order;
    for (auto [size, expr] : llvm::zip_equal(type.getShape(), map.getResults()))
      if (size != 1)
        order.push_back(expr);
    return order;
  };
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  SmallVector<AffineExpr> order = getOrder(to, maps.back());
  if (order.empty() || !maps.back().isPermutation() ||
      getOrder(from, maps.front()) != order)
    return;
  OpBuilder b(op);
  SmallVector<int64_t> shape;
  for (auto group : groupUnits(from))
    for (int64_t axis : group)
      if (from.getDimSize(axis) != 1)
        shape.push_back(from.getDimSize(axis));
  RankedTensorType plain = from.clone(shape);
  Value value = source;
  if (from != plain)
    value = tensor::CollapseShapeOp::create(b, op.getLoc(), plain, value,
                                            groupUnits(from));
  if (to != plain)
    value = tensor::ExpandShapeOp::create(b, op.getLoc(), to, value,
                                          groupUnits(to));
  op.getResult(0).replaceAllUsesWith(value);
  op.erase();
}

void foldUnitReshapes(func::FuncOp function, bool vectorsOnly) {
  function.walk([&](linalg::GenericOp op) {
    if (!op.hasPureTensorSemantics())
      return;
    foldOperands(op, vectorsOnly);
    if (vectorsOnly)
      return;
    dropOnes(op);
    foldCopy(op);
  });
}

} // namespace mp
