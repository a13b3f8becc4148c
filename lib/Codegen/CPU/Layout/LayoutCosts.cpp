//===- LayoutCosts.cpp - Costs of layouts ---------------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Costs are measured on processors with AVX-512, one thread, in the second
// cache. Only their ratios count, on which machines agree better than on times.
//
//===----------------------------------------------------------------------===//

#include "LayoutCosts.h"

#include "mp-opt/Dialect/Kernel/ContractShape.h"
#include "mp-opt/Dialect/Kernel/Windows.h"

using namespace mlir;

namespace mp {

namespace {
/// Cost of each element of 4 bytes that is read and written.
constexpr double transposed = 400;
/// Cost of each multiply-add of windows of one channel that slide along rows,
/// and of those whose channels are last.
constexpr double slid = 80, slidLast = 25;
/// The same for sums over all pixels, which add one element after the other
/// unless channels are last.
constexpr double summed = 1000, summedLast = 35;
/// Cost of each multiply-add of other convolutions, and with Winograd's
/// transforms.
constexpr double multiplied = 17, transformed = 9;
/// Cost of each element that is read with a stride along memory.
constexpr double gathered = 200;
} // namespace

static double countElements(RankedTensorType type) {
  double count = 1;
  for (int64_t size : type.getShape())
    count *= ShapedType::isDynamic(size) ? 1 : size;
  return count;
}

static double getWords(RankedTensorType type) {
  return countElements(type) * type.getElementTypeBitWidth() / 32;
}

int64_t getTransposeCost(Value value, ArrayRef<int64_t> order) {
  auto type = cast<RankedTensorType>(value.getType());
  if (llvm::is_sorted(dropUnits(type, order)))
    return 0;
  return int64_t(transposed * getWords(type));
}

/// The sizes of a contraction's dimensions, as far as operands define them.
static SmallVector<double> getSizes(kernel::ContractOp op) {
  SmallVector<double> sizes;
  SmallVector<int64_t> known = kernel::getStaticSizes(op);
  for (int64_t size : known)
    sizes.push_back(ShapedType::isDynamic(size) ? 1 : size);
  return sizes;
}

static LayoutCost getCost(kernel::ContractOp op) {
  ConvolutionParts parts = *ConvolutionParts::find(op);
  SmallVector<AffineMap> maps = op.getMaps();
  double products = 1, filterArea = 1, inner = 1;
  bool isWinograd = true;
  SmallVector<double> sizes = getSizes(op);
  auto isOf = [&](unsigned operand, unsigned dim) {
    return maps[operand].isFunctionOfDim(dim);
  };
  for (auto [dim, size] : llvm::enumerate(sizes)) {
    products *= size;
    bool isKept = maps.back().isFunctionOfDim(dim);
    // Channels that are not in all three make products of matrices.
    if (parts.channels.test(dim) && !(isKept && isOf(0, dim) && isOf(1, dim)))
      inner *= size;
  }
  for (const auto &axis : kernel::getOperandAxes(maps, parts.image)) {
    if (axis.getPlainLoop())
      continue;
    const auto &filters = parts.isWeightGradient ? axis.kept : axis.summed;
    for (kernel::AxisLoop loop : filters) {
      filterArea *= sizes[loop.dim];
      isWinograd &= sizes[loop.dim] == 3;
    }
    for (kernel::AxisLoop loop : axis.getLoops())
      isWinograd &= std::abs(loop.step) == 1;
  }
  auto cost = [&](double asIs, double last) {
    return LayoutCost{int64_t(products * asIs), int64_t(products * last)};
  };
  if (inner == 1)
    return parts.isWeightGradient ? cost(summed, summedLast)
                                  : cost(slid, slidLast);
  if (filterArea == 1)
    return {};
  return cost(isWinograd ? transformed : multiplied, multiplied);
}

/// True if only contractions read an op's result, which is a copy: they read
/// the source themselves.
static bool isFolded(linalg::GenericOp op) {
  auto yield = cast<linalg::YieldOp>(op.getBody()->getTerminator());
  auto argument = dyn_cast<BlockArgument>(yield.getOperand(0));
  if (!argument || argument.getOwner() != op.getBody())
    return false;
  std::function<bool(Value)> isRead = [&](Value value) {
    return llvm::all_of(value.getUsers(), [&](Operation *user) {
      if (isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp>(user))
        return isRead(user->getResult(0));
      return isa<kernel::ContractOp>(user);
    });
  };
  return isRead(op->getResult(0));
}

/// The cost of copies in another order of axes, which the other layout may
/// avoid.
static LayoutCost getCost(linalg::GenericOp op, const ChannelAxes &axes) {
  LayoutCost cost;
  if (isFolded(op))
    return cost;
  auto type = dyn_cast<RankedTensorType>(op.getResult(0).getType());
  if (!type || op.getNumParallelLoops() != op.getNumLoops())
    return cost;
  // The order in which a value's memory goes through the op's dimensions.
  auto getDims = [&](Value value, AffineMap map, bool isLast) {
    auto valueType = cast<RankedTensorType>(value.getType());
    AxisOrder order = axes.getAnyOrder(value);
    if (!isLast)
      llvm::sort(order);
    SmallVector<unsigned> dims;
    for (int64_t axis : dropUnits(valueType, order))
      if (auto dim = dyn_cast<AffineDimExpr>(map.getResult(axis)))
        dims.push_back(dim.getPosition());
    return dims;
  };
  for (OpOperand *operand : op.getDpsInputOperands()) {
    if (!isa<RankedTensorType>(operand->get().getType()))
      continue;
    for (bool isLast : {false, true}) {
      SmallVector<unsigned> read =
          getDims(operand->get(), op.getMatchingIndexingMap(operand), isLast);
      SmallVector<unsigned> written =
          getDims(op.getResult(0),
                  op.getIndexingMapMatchingResult(op->getResult(0)), isLast);
      llvm::erase_if(written, [&](unsigned dim) {
        return !llvm::is_contained(read, dim);
      });
      if (read != written)
        (isLast ? cost.channelsLast : cost.asIs) +=
            int64_t(transposed *
                    getWords(cast<RankedTensorType>(operand->get().getType())));
    }
  }
  return cost;
}

/// Steps of a slice along memory.
static LayoutCost getCost(tensor::ExtractSliceOp op, const ChannelAxes &axes) {
  AxisOrder order = axes.getAnyOrder(op.getSource());
  auto strides = op.getStaticStrides();
  auto getCost = [&](int64_t last) {
    return strides[last] == 1 ? 0
                              : int64_t(gathered * countElements(op.getType()));
  };
  return {getCost(int64_t(strides.size()) - 1), getCost(order.back())};
}

LayoutCost getLayoutCost(Operation *op, const ChannelAxes &axes) {
  if (auto contract = dyn_cast<kernel::ContractOp>(op))
    return getCost(contract);
  if (auto generic = dyn_cast<linalg::GenericOp>(op))
    return getCost(generic, axes);
  if (auto slice = dyn_cast<tensor::ExtractSliceOp>(op))
    return getCost(slice, axes);
  return {};
}

} // namespace mp
