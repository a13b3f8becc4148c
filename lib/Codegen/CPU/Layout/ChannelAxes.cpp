//===- ChannelAxes.cpp - Which axes are channels --------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ChannelAxes.h"

#include "mp-opt/Dialect/Kernel/ContractShape.h"
#include "mp-opt/Dialect/Kernel/Windows.h"

using namespace mlir;

namespace mp {

//===----------------------------------------------------------------------===//
// Convolutions
//===----------------------------------------------------------------------===//

static bool isPlain(AffineMap map) {
  return map.isProjectedPermutation(/*allowZeroInResults=*/true);
}

/// The dimensions of windows: those of the results and those that are summed,
/// with their sizes.
namespace {
struct WindowDims {
  llvm::SmallBitVector kept, summed;
  double keptSize = 1, summedSize = 1;
};
} // namespace

static WindowDims findWindowDims(kernel::ContractOp op, unsigned operand) {
  SmallVector<AffineMap> maps = op.getMaps();
  unsigned numDims = op.getNumLoops();
  SmallVector<int64_t> sizes = kernel::getStaticSizes(op);
  WindowDims found{llvm::SmallBitVector(numDims),
                   llvm::SmallBitVector(numDims)};
  auto add = [&](ArrayRef<kernel::AxisLoop> loops, llvm::SmallBitVector &dims,
                 double &product) {
    for (kernel::AxisLoop loop : loops) {
      int64_t size = sizes[loop.dim];
      dims.set(loop.dim);
      product *= ShapedType::isDynamic(size) ? 1e6 : size;
    }
  };
  for (const auto &axis : kernel::getOperandAxes(maps, operand)) {
    if (!axis.isWindow())
      continue;
    add(axis.kept, found.kept, found.keptSize);
    add(axis.summed, found.summed, found.summedSize);
  }
  return found;
}

std::optional<ConvolutionParts> ConvolutionParts::find(kernel::ContractOp op) {
  SmallVector<AffineMap> maps = op.getMaps();
  AffineMap result = maps.back();
  unsigned numDims = result.getNumDims();
  if (!op.getResult() ||
      !llvm::all_of(ArrayRef(maps).drop_front(2), kernel::hasSingleDims))
    return std::nullopt;
  for (unsigned image : {0, 1}) {
    WindowDims windows = findWindowDims(op, image);
    AffineMap other = maps[1 - image];
    if (windows.kept.none() || windows.summed.none() ||
        !kernel::hasSingleDims(other))
      continue;
    ConvolutionParts parts;
    parts.image = image;
    parts.other = 1 - image;
    // Otherwise they are alike: filter positions are fewer than pixels.
    parts.isWeightGradient = windows.summedSize > windows.keptSize;
    parts.channels.resize(numDims);
    for (unsigned dim = 0; dim < numDims; ++dim) {
      bool isKept = result.isFunctionOfDim(dim);
      bool isBoth =
          maps[image].isFunctionOfDim(dim) && other.isFunctionOfDim(dim);
      bool isWindow = windows.kept.test(dim) || windows.summed.test(dim);
      // The channels of a convolution are those of the weights; those of the
      // weights' gradient are the axes that it has.
      parts.channels[dim] =
          !isWindow && (parts.isWeightGradient
                            ? isKept
                            : other.isFunctionOfDim(dim) || (isKept && isBoth));
    }
    return parts;
  }
  return std::nullopt;
}

bool ConvolutionParts::isImage(kernel::ContractOp op, unsigned operand) const {
  bool isResult = operand + 1 == op.getMaps().size();
  if (isWeightGradient)
    return operand == image || operand == other;
  return operand != other || isResult;
}

bool ChannelAxes::isImage(OpOperand &use) {
  auto op = dyn_cast<kernel::ContractOp>(use.getOwner());
  if (!op)
    return true;
  std::optional<ConvolutionParts> parts = ConvolutionParts::find(op);
  SmallVector<Value> operands = op.getMappedOperands();
  for (auto [number, operand] : llvm::enumerate(operands))
    if (operand == use.get() && !parts->isImage(op, number))
      return false;
  return true;
}

//===----------------------------------------------------------------------===//
// Orders
//===----------------------------------------------------------------------===//

RankedTensorType permute(RankedTensorType type, ArrayRef<int64_t> order) {
  SmallVector<int64_t> shape;
  for (int64_t axis : order)
    shape.push_back(type.getDimSize(axis));
  return type.clone(shape);
}

AxisOrder dropUnits(RankedTensorType type, ArrayRef<int64_t> order) {
  AxisOrder left;
  for (int64_t axis : order)
    if (type.getDimSize(axis) != 1)
      left.push_back(axis);
  return left;
}

AxisOrder ChannelAxes::getAnyOrder(Value value) const {
  if (const AxisOrder *order = getOrder(value))
    return *order;
  int64_t rank = cast<RankedTensorType>(value.getType()).getRank();
  return llvm::to_vector(llvm::seq<int64_t>(0, rank));
}

void ChannelAxes::set(Value value, const Flags &flags) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  // Memory without contents does not determine axes: different ops may share
  // it.
  if (!type || value.getDefiningOp<tensor::EmptyOp>() || type.getRank() < 3 ||
      type.getEncoding() || flags.none() ||
      !channels.try_emplace(value, flags).second)
    return;
  AxisOrder order;
  for (bool isChannel : {false, true})
    for (int64_t axis = 0; axis < type.getRank(); ++axis)
      if (flags.test(axis) == isChannel)
        order.push_back(axis);
  if (!llvm::is_sorted(order))
    orders.try_emplace(value, std::move(order));
  if (Operation *producer = value.getDefiningOp();
      producer && producer->getBlock() == &block)
    worklist.push_back(producer);
  for (Operation *user : value.getUsers())
    if (user->getBlock() == &block)
      worklist.push_back(user);
}

/// Propagates knowledge from some values to others: which dimensions are
/// channels and which are not.
void ChannelAxes::visitMaps(ArrayRef<Value> values, ArrayRef<AffineMap> maps,
                            Flags isChannel, Flags isOther) {
  for (auto [value, map] : llvm::zip_equal(values, maps)) {
    auto known = channels.find(value);
    if (known == channels.end())
      continue;
    auto type = cast<RankedTensorType>(value.getType());
    for (auto [axis, expr] : llvm::enumerate(map.getResults()))
      if (auto dim = dyn_cast<AffineDimExpr>(expr);
          dim && type.getDimSize(axis) != 1)
        (known->second.test(axis) ? isChannel : isOther).set(dim.getPosition());
  }
  // Values disagree if a dimension is a channel of one and not of another.
  if (isChannel.anyCommon(isOther))
    return;
  for (auto [value, map] : llvm::zip_equal(values, maps)) {
    Flags flags(map.getNumResults());
    bool isKnown = true;
    for (auto [axis, expr] : llvm::enumerate(map.getResults()))
      if (auto dim = dyn_cast<AffineDimExpr>(expr)) {
        flags[axis] = isChannel.test(dim.getPosition());
        isKnown &=
            flags[axis] || isOther.test(dim.getPosition()) ||
            cast<RankedTensorType>(value.getType()).getDimSize(axis) == 1;
      }
    if (isKnown)
      set(value, flags);
  }
}

/// Axes of size one can be in either group.
void ChannelAxes::visitReshape(Value joined, Value divided,
                               ArrayRef<ReassociationIndices> groups) {
  auto joinedType = cast<RankedTensorType>(joined.getType());
  auto dividedType = cast<RankedTensorType>(divided.getType());
  if (auto known = channels.find(joined); known != channels.end()) {
    Flags flags(dividedType.getRank()), from = known->second;
    for (auto [axis, group] : llvm::enumerate(groups))
      if (from.test(axis))
        for (int64_t inner : group)
          flags.set(inner);
    set(divided, flags);
  } else if (auto known = channels.find(divided); known != channels.end()) {
    Flags flags(joinedType.getRank()), from = known->second;
    for (auto [axis, group] : llvm::enumerate(groups)) {
      bool isChannel = false, isOther = false;
      for (int64_t inner : group)
        if (dividedType.getDimSize(inner) != 1)
          (from.test(inner) ? isChannel : isOther) = true;
      if (isChannel && isOther)
        return;
      flags[axis] = isChannel || (!isOther && from.test(group.front()));
    }
    set(joined, flags);
  }
}

/// True if an op does the same with axes in another order.
static bool canPermute(Operation *op) {
  if (auto generic = dyn_cast<linalg::GenericOp>(op))
    return generic.hasPureTensorSemantics() && op->getNumResults() == 1 &&
           !generic.hasIndexSemantics() &&
           llvm::all_of(generic.getIndexingMapsArray(), isPlain);
  if (auto contract = dyn_cast<kernel::ContractOp>(op))
    return ConvolutionParts::find(contract).has_value();
  if (auto fill = dyn_cast<linalg::FillOp>(op))
    return fill.hasPureTensorSemantics();
  if (auto slice = dyn_cast<tensor::ExtractSliceOp>(op))
    return slice.getSourceType().getRank() == slice.getType().getRank();
  if (auto slice = dyn_cast<tensor::InsertSliceOp>(op))
    return slice.getSourceType().getRank() == slice.getType().getRank();
  return isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp>(op);
}

void ChannelAxes::visit(Operation *op) {
  auto same = [&](ArrayRef<Value> values) {
    int64_t rank = cast<RankedTensorType>(values.front().getType()).getRank();
    SmallVector<AffineMap> maps(
        values.size(),
        AffineMap::getMultiDimIdentityMap(rank, op->getContext()));
    visitMaps(values, maps, Flags(rank), Flags(rank));
  };
  if (auto contract = dyn_cast<kernel::ContractOp>(op)) {
    std::optional<ConvolutionParts> parts = ConvolutionParts::find(contract);
    if (!parts)
      return;
    SmallVector<Value> operands = contract.getMappedOperands(), values;
    SmallVector<AffineMap> maps;
    for (unsigned number = 0; number < operands.size(); ++number)
      if (parts->isImage(contract, number)) {
        values.push_back(operands[number]);
        maps.push_back(contract.getMaps()[number]);
      }
    if (!parts->isWeightGradient) {
      values.push_back(contract.getResult());
      maps.push_back(contract.getMaps().back());
    }
    llvm::SmallBitVector others = parts->channels;
    visitMaps(values, maps, parts->channels, others.flip());
    return;
  }
  if (!canPermute(op))
    return;
  if (auto generic = dyn_cast<linalg::GenericOp>(op)) {
    SmallVector<Value> values(generic.getOperands());
    SmallVector<AffineMap> maps = generic.getIndexingMapsArray();
    for (OpResult result : generic.getResults()) {
      values.push_back(result);
      maps.push_back(generic.getIndexingMapMatchingResult(result));
    }
    visitMaps(values, maps, Flags(generic.getNumLoops()),
              Flags(generic.getNumLoops()));
  } else if (auto fill = dyn_cast<linalg::FillOp>(op)) {
    same({fill.getOutputs().front(), fill.getResult(0)});
  } else if (auto slice = dyn_cast<tensor::ExtractSliceOp>(op)) {
    same({slice.getSource(), slice.getResult()});
  } else if (auto slice = dyn_cast<tensor::InsertSliceOp>(op)) {
    same({slice.getSource(), slice.getDest(), slice.getResult()});
  } else if (auto expand = dyn_cast<tensor::ExpandShapeOp>(op)) {
    visitReshape(expand.getSrc(), expand.getResult(),
                 expand.getReassociationIndices());
  } else if (auto collapse = dyn_cast<tensor::CollapseShapeOp>(op)) {
    visitReshape(collapse.getResult(), collapse.getSrc(),
                 collapse.getReassociationIndices());
  }
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

/// True if elements have the same order in both tensors.
bool ChannelAxes::keepsOrder(Value joined, Value divided,
                             ArrayRef<ReassociationIndices> groups) const {
  AxisOrder flat;
  for (int64_t axis : getAnyOrder(joined))
    llvm::append_range(flat, groups[axis]);
  auto type = cast<RankedTensorType>(divided.getType());
  auto joinedType = cast<RankedTensorType>(joined.getType());
  auto reshaped = getReassociationIndicesForReshape(
      permute(type, getAnyOrder(divided)),
      permute(joinedType, getAnyOrder(joined)));
  return reshaped &&
         dropUnits(type, flat) == dropUnits(type, getAnyOrder(divided));
}

bool ChannelAxes::isFlexible(Operation *op) const {
  if (!canPermute(op))
    return false;
  auto hasSameOrder = [&](Value value) {
    return value.getDefiningOp<tensor::EmptyOp>() ||
           getAnyOrder(value) == getAnyOrder(op->getResult(0));
  };
  if (auto expand = dyn_cast<tensor::ExpandShapeOp>(op))
    return keepsOrder(expand.getSrc(), expand.getResult(),
                      expand.getReassociationIndices());
  if (auto collapse = dyn_cast<tensor::CollapseShapeOp>(op))
    return keepsOrder(collapse.getResult(), collapse.getSrc(),
                      collapse.getReassociationIndices());
  if (auto slice = dyn_cast<tensor::ExtractSliceOp>(op))
    return hasSameOrder(slice.getSource());
  if (auto slice = dyn_cast<tensor::InsertSliceOp>(op))
    return hasSameOrder(slice.getSource()) && hasSameOrder(slice.getDest());
  if (auto contract = dyn_cast<kernel::ContractOp>(op);
      contract && ConvolutionParts::find(contract)->isWeightGradient)
    return !getOrder(contract.getResult());
  auto destination = cast<DestinationStyleOpInterface>(op);
  return llvm::all_of(destination.getDpsInits(), hasSameOrder);
}

ChannelAxes::ChannelAxes(Block &block) : block(block) {
  for (Operation &op : block)
    if (isa<kernel::ContractOp>(op))
      worklist.push_back(&op);
  // Visit convolutions first.
  for (size_t next = 0; next < worklist.size(); ++next)
    visit(worklist[next]);
}

} // namespace mp
