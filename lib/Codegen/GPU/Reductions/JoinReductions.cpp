//===- JoinReductions.cpp - Sums of what is read once ---------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The gradients of a channel's scale and shift are sums of the same gradients,
// with and without a factor. Two kernels, or two parts of one, would each read
// them. As one op with two results they are read once.
//
// Only sums along memory are joined. Sums of columns may become a part of a
// kernel that has the rows (JoinColumnSums.cpp).
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Codegen/GPU/Reductions.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace mp {

namespace {
/// The least points of a reduction that is joined with another.
constexpr int64_t minJoinedPoints = 1 << 16;
/// The most results of a joined op: each takes registers for its partial sums.
constexpr unsigned maxJoinedResults = 6;
/// The number of reductions before another one that are tried.
constexpr size_t maxJoinDistance = 16;
} // namespace

static bool isCandidate(linalg::GenericOp op) {
  if (!op.hasPureTensorSemantics() || op->getNumResults() == 0 ||
      op.getNumReductionLoops() == 0 || op.hasIndexSemantics())
    return false;
  SmallVector<int64_t> extents = op.getStaticLoopRanges();
  int64_t points = 1;
  for (int64_t extent : extents) {
    if (ShapedType::isDynamic(extent))
      return false;
    points *= extent;
  }
  auto kinds = op.getIteratorTypesArray();
  while (extents.back() == 1 && extents.size() > 1)
    extents.pop_back();
  return points >= minJoinedPoints &&
         kinds[extents.size() - 1] == utils::IteratorType::reduction &&
         llvm::all_of(
             op.getDpsInits(),
             [](Value init) { return init.getDefiningOp<linalg::FillOp>(); }) &&
         llvm::all_of(*op.getBody(), [](Operation &inner) {
           return inner.getNumRegions() == 0 && isMemoryEffectFree(&inner);
         });
}

/// True if both ops have the same loops and results of the same places, and
/// read a tensor together that has an element for each point.
static bool readTogether(linalg::GenericOp first, linalg::GenericOp second) {
  if (first.getStaticLoopRanges() != second.getStaticLoopRanges() ||
      first.getIteratorTypesArray() != second.getIteratorTypesArray() ||
      first.getIndexingMapsArray().back() !=
          second.getIndexingMapsArray().back() ||
      first->getNumResults() + second->getNumResults() > maxJoinedResults)
    return false;
  for (OpOperand *operand : first.getDpsInputOperands()) {
    AffineMap map = first.getMatchingIndexingMap(operand);
    if (!map.isPermutation())
      continue;
    for (OpOperand *other : second.getDpsInputOperands())
      if (operand->get() == other->get() &&
          second.getMatchingIndexingMap(other) == map)
        return true;
  }
  return false;
}

static bool isDefinedBefore(Value value, Operation *op) {
  Operation *producer = value.getDefiningOp();
  return !producer || producer->getBlock() != op->getBlock() ||
         producer->isBeforeInBlock(op);
}

/// The op, of both, at whose position the joined op can stand; null if there is
/// none. `first` is before `second`.
static Operation *findPosition(linalg::GenericOp first,
                               linalg::GenericOp second) {
  if (llvm::all_of(second.getDpsInputs(),
                   [&](Value value) { return isDefinedBefore(value, first); }))
    return first;
  bool isFree = llvm::all_of(first->getUsers(), [&](Operation *user) {
    Operation *ancestor = first->getBlock()->findAncestorOpInBlock(*user);
    return ancestor && ancestor != second && second->isBeforeInBlock(ancestor);
  });
  return isFree ? second : nullptr;
}

static linalg::GenericOp join(linalg::GenericOp first, linalg::GenericOp second,
                              Operation *position) {
  OpBuilder b(position);
  SmallVector<Value> inputs, starts;
  SmallVector<AffineMap> maps, stored;
  SmallVector<Type> types;
  // The input of the joined op that each input of both is.
  SmallVector<SmallVector<unsigned>> numbers(2);
  SmallVector<linalg::GenericOp> ops{first, second};
  for (auto [op, places] : llvm::zip(ops, numbers))
    for (OpOperand *operand : op.getDpsInputOperands()) {
      AffineMap map = op.getMatchingIndexingMap(operand);
      unsigned place = 0;
      while (place < inputs.size() &&
             (inputs[place] != operand->get() || maps[place] != map))
        ++place;
      places.push_back(place);
      if (place < inputs.size())
        continue;
      inputs.push_back(operand->get());
      maps.push_back(map);
    }
  for (linalg::GenericOp op : ops)
    for (OpOperand &init : op.getDpsInitsMutable()) {
      Operation *fill = b.clone(*init.get().getDefiningOp());
      starts.push_back(fill->getResult(0));
      stored.push_back(op.getMatchingIndexingMap(&init));
      types.push_back(starts.back().getType());
    }
  maps.append(stored);
  Location loc = b.getFusedLoc({first.getLoc(), second.getLoc()});
  return linalg::GenericOp::create(
      b, loc, types, inputs, starts, maps, first.getIteratorTypesArray(),
      [&](OpBuilder &inner, Location at, ValueRange values) {
        ValueRange outputs = values.drop_front(inputs.size());
        SmallVector<Value> results;
        for (auto [op, places] : llvm::zip(ops, numbers)) {
          IRMapping mapping;
          for (auto [argument, place] :
               llvm::zip(op.getRegionInputArgs(), places))
            mapping.map(argument, values[place]);
          for (BlockArgument output : op.getRegionOutputArgs()) {
            mapping.map(output, outputs.front());
            outputs = outputs.drop_front();
          }
          for (Operation &body : op.getBody()->without_terminator())
            inner.clone(body, mapping);
          for (Value value : op.getBody()->getTerminator()->getOperands())
            results.push_back(mapping.lookupOrDefault(value));
        }
        linalg::YieldOp::create(inner, at, results);
      });
}

void joinReductions(func::FuncOp function) {
  if (function.isExternal())
    return;
  SmallVector<linalg::GenericOp> known;
  for (auto op : llvm::to_vector(
           function.getBody().front().getOps<linalg::GenericOp>())) {
    if (!isCandidate(op))
      continue;
    size_t first = known.size() - std::min(known.size(), maxJoinDistance);
    linalg::GenericOp current = op;
    for (size_t index = known.size(); index-- > first;) {
      linalg::GenericOp before = known[index];
      Operation *position = readTogether(before, current)
                                ? findPosition(before, current)
                                : nullptr;
      if (!position)
        continue;
      linalg::GenericOp joined = join(before, current, position);
      SmallVector<Value> results(joined.getResults());
      unsigned count = before->getNumResults();
      before->replaceAllUsesWith(ValueRange(results).take_front(count));
      current->replaceAllUsesWith(ValueRange(results).drop_front(count));
      before.erase();
      current.erase();
      known.erase(known.begin() + index);
      current = joined;
      break;
    }
    known.push_back(current);
  }
}

} // namespace mp
