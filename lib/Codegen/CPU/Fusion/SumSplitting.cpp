//===- SumSplitting.cpp - Long sums as sums of parts ----------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Codegen/CPU/SumSplitting.h"

#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;

namespace mp {

namespace {
/// Sums of fewer terms are not split.
constexpr double fewRows = 256;
/// The assumed size of a dimension that is not known.
constexpr double unknownSize = 64;
} // namespace

/// The reduced dimensions in their order in memory, outermost first; none if
/// these, and not columns, are innermost.
static SmallVector<unsigned> findRowDims(linalg::GenericOp op) {
  auto iterators = op.getIteratorTypesArray();
  AffineMap widest;
  for (OpOperand *operand : op.getDpsInputOperands()) {
    AffineMap map = op.getMatchingIndexingMap(operand);
    if (!widest || map.getNumResults() > widest.getNumResults())
      widest = map;
  }
  if (!widest)
    return {};
  SmallVector<int64_t> sizes = op.getStaticLoopRanges();
  SmallVector<unsigned> rows;
  bool isRowInnermost = true;
  for (AffineExpr expr : widest.getResults()) {
    auto dim = dyn_cast<AffineDimExpr>(expr);
    if (!dim || sizes[dim.getPosition()] == 1)
      continue;
    isRowInnermost =
        iterators[dim.getPosition()] == utils::IteratorType::reduction;
    if (isRowInnermost)
      rows.push_back(dim.getPosition());
  }
  if (isRowInnermost)
    return {};
  return rows;
}

/// Selects so many of the outer dimensions that the number of parts and the
/// terms of each are about equal.
static ArrayRef<unsigned> chooseParts(linalg::GenericOp op,
                                      ArrayRef<unsigned> rows) {
  SmallVector<int64_t> sizes = op.getStaticLoopRanges();
  auto getSize = [&](unsigned dim) {
    return ShapedType::isDynamic(sizes[dim]) ? unknownSize : double(sizes[dim]);
  };
  double total = 1, parts = 1;
  for (unsigned dim : rows)
    total *= getSize(dim);
  if (total < fewRows)
    return {};
  size_t best = 0;
  double least = total;
  for (size_t count = 1; count < rows.size(); ++count) {
    parts *= getSize(rows[count - 1]);
    double longest = std::max(parts, total / parts);
    if (longest < least) {
      least = longest;
      best = count;
    }
  }
  return rows.take_front(best);
}

/// The op that adds a term to the output, if the body does nothing else.
static Operation *findCombiner(linalg::GenericOp op) {
  SmallVector<Operation *, 4> combiners;
  Value term = matchReduction(op.getRegionOutputArgs(), 0, combiners);
  return term && combiners.size() == 1 ? combiners.front() : nullptr;
}

static void split(linalg::GenericOp op) {
  if (!op.hasPureTensorSemantics() || op->getNumResults() != 1 ||
      op.hasIndexSemantics() ||
      !op.getIndexingMapsArray().back().isProjectedPermutation())
    return;
  SmallVector<unsigned> rows = findRowDims(op);
  ArrayRef<unsigned> parts = chooseParts(op, rows);
  if (parts.empty())
    return;
  Operation *combiner = findCombiner(op);
  std::optional<TypedAttr> neutral =
      combiner ? arith::getNeutralElement(combiner) : std::nullopt;
  if (!neutral)
    return;
  OpBuilder b(op);
  Location loc = op.getLoc();
  Value init = op.getDpsInits().front();
  auto type = cast<RankedTensorType>(init.getType());
  SmallVector<Range> ranges =
      cast<linalg::LinalgOp>(op.getOperation()).createLoopRanges(b, loc);
  SmallVector<OpFoldResult> sizes;
  SmallVector<AffineExpr> stored;
  auto iterators = op.getIteratorTypesArray();
  for (unsigned dim : parts) {
    sizes.push_back(ranges[dim].size);
    stored.push_back(b.getAffineDimExpr(dim));
    iterators[dim] = utils::IteratorType::parallel;
  }
  llvm::append_range(sizes, tensor::getMixedSizes(b, loc, init));
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  llvm::append_range(stored, maps.back().getResults());
  maps.back() = AffineMap::get(op.getNumLoops(), 0, stored, op.getContext());
  Value zero = arith::ConstantOp::create(b, loc, *neutral);
  Value empty = tensor::EmptyOp::create(b, loc, sizes, type.getElementType());
  Value first = linalg::FillOp::create(b, loc, zero, empty).getResult(0);
  auto partial =
      linalg::GenericOp::create(b, loc, TypeRange{first.getType()},
                                op.getInputs(), first, maps, iterators);
  b.cloneRegionBefore(op.getRegion(), partial.getRegion(),
                      partial.getRegion().begin());

  // All parts.
  unsigned rank = sizes.size();
  SmallVector<utils::IteratorType> both(rank, utils::IteratorType::parallel);
  std::fill_n(both.begin(), parts.size(), utils::IteratorType::reduction);
  SmallVector<AffineExpr> kept;
  for (unsigned axis = parts.size(); axis < rank; ++axis)
    kept.push_back(b.getAffineDimExpr(axis));
  SmallVector<AffineMap> sumMaps = {
      b.getMultiDimIdentityMap(rank),
      AffineMap::get(rank, 0, kept, op.getContext())};
  auto sum = linalg::GenericOp::create(
      b, loc, TypeRange{type}, partial.getResult(0), init, sumMaps, both,
      [&](OpBuilder &b, Location loc, ValueRange arguments) {
        Operation *next = b.clone(*combiner);
        next->setOperands({arguments[1], arguments[0]});
        linalg::YieldOp::create(b, loc, next->getResult(0));
      });
  op.getResult(0).replaceAllUsesWith(sum.getResult(0));
  op.erase();
}

void splitSums(func::FuncOp function) {
  // Sums in a loop over rows stay as they are: they are in the first cache.
  for (linalg::GenericOp op :
       llvm::make_early_inc_range(function.getOps<linalg::GenericOp>()))
    split(op);
}

} // namespace mp
