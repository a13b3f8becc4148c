//===- LayoutRewrite.cpp - Ops in another layout --------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LayoutRewrite.h"

using namespace mlir;

namespace mp {

namespace {
class Rewriter {
public:
  Rewriter(ArrayRef<Operation *> ops, const ChannelAxes &axes)
      : axes(axes), builder(ops.front()->getContext()),
        chosen(ops.begin(), ops.end()) {}

  void rewrite(Operation *op);

private:
  /// The value with channels last.
  Value get(Value value);
  SmallVector<Value> get(ValueRange values) {
    return llvm::map_to_vector(values, [&](Value value) { return get(value); });
  }
  /// The tensor to which `result` is written.
  Value getDestination(Value value, Value result);
  Type getType(Value value);
  Value transpose(Value value, RankedTensorType type, ArrayRef<int64_t> order);
  AffineMap permute(AffineMap map, Value value);
  template <typename T> SmallVector<T> permute(ArrayRef<T> list, Value value) {
    SmallVector<T> made;
    for (int64_t axis : axes.getAnyOrder(value))
      made.push_back(list[axis]);
    return made;
  }
  Operation *make(Operation *op);
  Operation *makeGeneric(linalg::GenericOp op);
  Operation *makeContract(kernel::ContractOp op);

  const ChannelAxes &axes;
  OpBuilder builder;
  llvm::DenseSet<Operation *> chosen;
  DenseMap<Value, Value> lasts;
};
} // namespace

/// A copy whose i-th axis is `order[i]` of `value`.
Value Rewriter::transpose(Value value, RankedTensorType type,
                          ArrayRef<int64_t> order) {
  Location loc = value.getLoc();
  SmallVector<OpFoldResult> sizes;
  for (int64_t axis : order)
    sizes.push_back(tensor::getMixedSize(builder, loc, value, axis));
  // If only axes of size one move, memory stays as it is.
  auto from = cast<RankedTensorType>(value.getType());
  if (llvm::is_sorted(dropUnits(from, order)) && type.hasStaticShape()) {
    SmallVector<ReassociationIndices> all(1);
    llvm::append_range(all.front(), llvm::seq<int64_t>(0, type.getRank()));
    Value line = tensor::CollapseShapeOp::create(builder, loc, value, all);
    return tensor::ExpandShapeOp::create(builder, loc, type, line, all);
  }
  Value empty =
      tensor::EmptyOp::create(builder, loc, sizes, type.getElementType());
  unsigned rank = type.getRank();
  SmallVector<AffineExpr> read(rank);
  for (auto [position, axis] : llvm::enumerate(order))
    read[axis] = builder.getAffineDimExpr(position);
  SmallVector<AffineMap> maps = {
      AffineMap::get(rank, 0, read, builder.getContext()),
      builder.getMultiDimIdentityMap(rank)};
  SmallVector<utils::IteratorType> iterators(rank,
                                             utils::IteratorType::parallel);
  return linalg::GenericOp::create(
             builder, loc, TypeRange{type}, ValueRange{value},
             ValueRange{empty}, maps, iterators,
             [](OpBuilder &b, Location loc, ValueRange arguments) {
               linalg::YieldOp::create(b, loc, arguments.front());
             })
      .getResult(0);
}

Type Rewriter::getType(Value value) {
  const AxisOrder *order = axes.getOrder(value);
  if (!order)
    return value.getType();
  return mp::permute(cast<RankedTensorType>(value.getType()), *order);
}

Value Rewriter::get(Value value) {
  const AxisOrder *order = axes.getOrder(value);
  if (!order)
    return value;
  Value &last = lasts[value];
  if (last)
    return last;
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointAfterValue(value);
  last = transpose(value, cast<RankedTensorType>(getType(value)), *order);
  return last;
}

Value Rewriter::getDestination(Value value, Value result) {
  auto empty = value.getDefiningOp<tensor::EmptyOp>();
  if (!empty)
    return get(value);
  return tensor::EmptyOp::create(
      builder, value.getLoc(),
      permute<OpFoldResult>(empty.getMixedSizes(), result),
      empty.getType().getElementType());
}

AffineMap Rewriter::permute(AffineMap map, Value value) {
  return AffineMap::get(map.getNumDims(), 0,
                        permute<AffineExpr>(map.getResults(), value),
                        map.getContext());
}

/// Dimensions in the order in which they first occur in maps; others come last.
static SmallVector<unsigned> findOrder(ArrayRef<AffineMap> maps) {
  unsigned count = maps.front().getNumDims();
  llvm::SetVector<unsigned> order;
  for (AffineMap map : maps)
    for (AffineExpr expr : map.getResults())
      for (unsigned dim = 0; dim < count; ++dim)
        if (expr.isFunctionOfDim(dim))
          order.insert(dim);
  for (unsigned dim = 0; dim < count; ++dim)
    order.insert(dim);
  return order.takeVector();
}

/// The same maps of dimensions in another order.
static SmallVector<AffineMap> reorder(ArrayRef<AffineMap> maps,
                                      ArrayRef<unsigned> order) {
  SmallVector<AffineExpr> dims(order.size());
  for (auto [position, dim] : llvm::enumerate(order))
    dims[dim] = getAffineDimExpr(position, maps.front().getContext());
  return llvm::map_to_vector(maps, [&](AffineMap map) {
    return map.replaceDimsAndSymbols(dims, {}, order.size(), 0);
  });
}

Operation *Rewriter::makeGeneric(linalg::GenericOp op) {
  SmallVector<AffineMap> maps;
  Value result = op->getResult(0);
  for (OpOperand *operand : op.getDpsInputOperands())
    maps.push_back(permute(op.getMatchingIndexingMap(operand), operand->get()));
  maps.push_back(
      permute(op.getIndexingMapMatchingResult(op->getResult(0)), result));
  // Loops follow the memory of the result, then that of the operand with most
  // axes.
  SmallVector<AffineMap> byRank(maps);
  std::rotate(byRank.begin(), byRank.end() - 1, byRank.end());
  std::stable_sort(byRank.begin() + 1, byRank.end(),
                   [](AffineMap a, AffineMap b) {
                     return a.getNumResults() > b.getNumResults();
                   });
  SmallVector<unsigned> order = findOrder(byRank);
  SmallVector<utils::IteratorType> old = op.getIteratorTypesArray(), iterators;
  for (unsigned dim : order)
    iterators.push_back(old[dim]);
  Value destination = getDestination(op.getOutputs().front(), result);
  auto made = linalg::GenericOp::create(
      builder, op.getLoc(), TypeRange{getType(result)}, get(op.getInputs()),
      ValueRange{destination}, reorder(maps, order), iterators);
  made.getRegion().takeBody(op.getRegion());
  return made;
}

Operation *Rewriter::makeContract(kernel::ContractOp op) {
  SmallVector<Value> operands = op.getMappedOperands();
  SmallVector<AffineMap> maps = op.getMaps();
  ConvolutionParts parts = *ConvolutionParts::find(op);
  for (auto [number, map, operand] : llvm::enumerate(maps, operands)) {
    if (!parts.isImage(op, number))
      continue;
    bool isResult = number + 1 == operands.size();
    map = permute(map, isResult ? op.getResult() : operand);
    operand = isResult ? getDestination(operand, op.getResult()) : get(operand);
  }
  SmallVector<unsigned> order = findOrder({maps.back(), maps[parts.image]});
  // Sizes that no operand has are in the order of the dimensions.
  SmallVector<Value> sizes;
  auto sources = op.getSizeSources();
  for (unsigned dim : order)
    if (sources[dim].first < 0)
      sizes.push_back(op.getSizes()[sources[dim].second]);
  auto made = kernel::ContractOp::create(
      builder, op.getLoc(), operands[0], operands[1],
      ArrayRef(operands).slice(2, operands.size() - 3), sizes, operands.back(),
      reorder(maps, order));
  made.copyRounding(op);
  made.getEpilogue().takeBody(op.getEpilogue());
  return made;
}

Operation *Rewriter::make(Operation *op) {
  if (auto generic = dyn_cast<linalg::GenericOp>(op))
    return makeGeneric(generic);
  if (auto contract = dyn_cast<kernel::ContractOp>(op))
    return makeContract(contract);
  Location loc = op->getLoc();
  if (auto fill = dyn_cast<linalg::FillOp>(op))
    return linalg::FillOp::create(
        builder, loc, fill.getInputs(),
        getDestination(fill.getOutputs().front(), fill.getResult(0)));
  if (auto slice = dyn_cast<tensor::ExtractSliceOp>(op)) {
    Value source = slice.getSource();
    return tensor::ExtractSliceOp::create(
        builder, loc, cast<RankedTensorType>(getType(slice.getResult())),
        get(source), permute<OpFoldResult>(slice.getMixedOffsets(), source),
        permute<OpFoldResult>(slice.getMixedSizes(), source),
        permute<OpFoldResult>(slice.getMixedStrides(), source));
  }
  if (auto slice = dyn_cast<tensor::InsertSliceOp>(op)) {
    Value source = slice.getSource();
    return tensor::InsertSliceOp::create(
        builder, loc, get(source),
        getDestination(slice.getDest(), slice.getResult()),
        permute<OpFoldResult>(slice.getMixedOffsets(), source),
        permute<OpFoldResult>(slice.getMixedSizes(), source),
        permute<OpFoldResult>(slice.getMixedStrides(), source));
  }
  Value from = op->getOperand(0), to = op->getResult(0);
  auto fromType = cast<RankedTensorType>(getType(from));
  auto toType = cast<RankedTensorType>(getType(to));
  auto groups = *getReassociationIndicesForReshape(fromType, toType);
  if (auto expand = dyn_cast<tensor::ExpandShapeOp>(op))
    return tensor::ExpandShapeOp::create(
        builder, loc, toType, get(from), groups,
        permute<OpFoldResult>(getMixedValues(expand.getStaticOutputShape(),
                                             expand.getOutputShape(), builder),
                              to));
  return tensor::CollapseShapeOp::create(builder, loc, toType, get(from),
                                         groups);
}

void Rewriter::rewrite(Operation *op) {
  builder.setInsertionPoint(op);
  Operation *made = make(op);
  builder.setInsertionPointAfter(op);
  for (auto [old, result] :
       llvm::zip_equal(op->getResults(), made->getResults())) {
    const AxisOrder *order = axes.getOrder(old);
    if (!order) {
      old.replaceAllUsesWith(result);
      continue;
    }
    lasts[old] = result;
    auto isOther = [&](OpOperand &use) {
      return !chosen.contains(use.getOwner()) || !ChannelAxes::isImage(use);
    };
    if (llvm::none_of(old.getUses(), isOther))
      continue;
    AxisOrder back(order->size());
    for (auto [position, axis] : llvm::enumerate(*order))
      back[axis] = position;
    Value same = transpose(result, cast<RankedTensorType>(old.getType()), back);
    old.replaceUsesWithIf(same, isOther);
  }
}

void rewriteChannelsLast(ArrayRef<Operation *> ops, const ChannelAxes &axes) {
  if (ops.empty())
    return;
  Rewriter rewriter(ops, axes);
  for (Operation *op : ops)
    rewriter.rewrite(op);
  for (Operation *op : llvm::reverse(ops))
    op->erase();
}

} // namespace mp
