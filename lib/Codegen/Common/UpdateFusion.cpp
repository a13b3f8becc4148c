//===- UpdateFusion.cpp - One op for the updates of a state ---------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An optimizer has to read each gradient and each state, and to write each
// state. If its ops are separate, it does more: new moments go to memory, and
// from there to the new parameter; with loss scaling all of them wait there
// until all gradients have been found finite. This pass makes the rules of one
// parameter one op, in three steps:
//
// * Find ops for states alone: ops that only other such ops and the return of a
//   state read.
// * Sources of these that others read too, as the test for finite values reads
//   unscaled gradients, are computed by each reader.
// * Ops over the same points that share operands become one.
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Codegen/Common/UpdateFusion.h"

#include "mp-opt/Codegen/Common/ContractionFusion.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/EquivalenceClasses.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;

namespace mp {

namespace {

class UpdateFuser {
public:
  UpdateFuser(func::FuncOp function, const NextStates &states);

  void run();

private:
  using Maps = SmallVector<linalg::GenericOp>;

  bool isUpdate(linalg::GenericOp op) const;
  void findUpdates();
  bool canRecompute(linalg::GenericOp op) const;
  void recompute(linalg::GenericOp op);
  SmallVector<Maps> findFamilies() const;
  bool canMerge(ArrayRef<linalg::GenericOp> family) const;

  Block &block;
  IRRewriter b;
  /// Operands of the function's return that are states.
  llvm::DenseSet<OpOperand *> returned;
  llvm::DenseSet<Operation *> updates;
};

/// Merges the ops of a family into one.
class MapMerger {
public:
  MapMerger(IRRewriter &b, ArrayRef<linalg::GenericOp> family)
      : b(b), family(family) {}

  void run();

private:
  using Input = std::pair<Value, AffineMap>;

  bool isInside(Operation *op) const { return llvm::is_contained(family, op); }
  void collect();
  void fill(Block *body);

  IRRewriter &b;
  ArrayRef<linalg::GenericOp> family;
  llvm::MapVector<Input, unsigned> inputs;
  SmallVector<OpResult> outputs;
};

} // namespace

//===----------------------------------------------------------------------===//
// Ops for states alone
//===----------------------------------------------------------------------===//

/// True for ops that compute one value for each point, in the order of points.
static bool isMap(linalg::GenericOp op) {
  return op && op.hasPureTensorSemantics() &&
         op.getNumParallelLoops() == op.getNumLoops() &&
         !ShapedType::isDynamicShape(op.getStaticLoopRanges()) &&
         llvm::all_of(op.getDpsInitsMutable(), [&](OpOperand &init) {
           return op.getMatchingIndexingMap(&init).isIdentity() &&
                  !op.payloadUsesValueFromOperand(&init);
         });
}

UpdateFuser::UpdateFuser(func::FuncOp function, const NextStates &states)
    : block(function.getBody().front()), b(function.getContext()) {
  for (BlockArgument argument : block.getArguments())
    if (OpOperand *next = states.lookup(argument))
      returned.insert(next);
}

bool UpdateFuser::isUpdate(linalg::GenericOp op) const {
  return isMap(op) && !op->use_empty() &&
         llvm::all_of(op->getUses(), [&](OpOperand &use) {
           return returned.contains(&use) || updates.contains(use.getOwner());
         });
}

void UpdateFuser::findUpdates() {
  for (Operation &op : llvm::reverse(block))
    if (auto generic = dyn_cast<linalg::GenericOp>(op); isUpdate(generic))
      updates.insert(generic);
}

//===----------------------------------------------------------------------===//
// Recomputation
//===----------------------------------------------------------------------===//

/// A few additions and multiplications cost less than a read from memory.
static bool isCheap(Block &body) {
  constexpr int64_t maxOps = 8;
  int64_t count = 0;
  for (Operation &op : body.without_terminator())
    if (!isa<arith::ArithDialect>(op.getDialect()) || op.getNumRegions() ||
        ++count > maxOps)
      return false;
  return true;
}

static int64_t countBits(Value tensor) {
  auto type = cast<RankedTensorType>(tensor.getType());
  return type.getNumElements() * type.getElementTypeBitWidth();
}

/// True if `op` can be part of each of its readers, and the inputs that these
/// read then, and that have to live on, take no more memory than its result
/// does.
bool UpdateFuser::canRecompute(linalg::GenericOp op) const {
  if (!isMap(op) || op->getNumResults() != 1 || !isCheap(*op.getBody()))
    return false;
  bool isForUpdates = false;
  for (OpOperand &use : op->getUses()) {
    auto reader = dyn_cast<linalg::GenericOp>(use.getOwner());
    if (!reader || reader->getBlock() != &block ||
        !linalg::areElementwiseOpsFusable(&use))
      return false;
    isForUpdates |= updates.contains(reader);
  }
  int64_t bits = 0;
  for (OpOperand *input : op.getDpsInputOperands())
    if (!isa<BlockArgument>(input->get()))
      bits += countBits(input->get());
  return isForUpdates && bits <= countBits(op->getResult(0));
}

void UpdateFuser::recompute(linalg::GenericOp op) {
  // Each reader gets a clone that has no other reader.
  while (!op->use_empty()) {
    OpOperand &use = *op->getUses().begin();
    auto reader = cast<linalg::GenericOp>(use.getOwner());
    b.setInsertionPoint(reader);
    auto own = cast<linalg::GenericOp>(b.clone(*op));
    use.set(own->getResult(0));
    FailureOr<linalg::ElementwiseOpFusionResult> fused =
        linalg::fuseElementwiseOps(b, &use);
    if (failed(fused))
      return;
    if (updates.erase(reader))
      updates.insert(fused->fusedOp);
    for (OpResult result : reader->getResults())
      b.replaceAllUsesWith(result, fused->replacements.lookup(result));
    b.eraseOp(reader);
    b.eraseOp(own);
  }
  b.eraseOp(op);
}

//===----------------------------------------------------------------------===//
// Merging
//===----------------------------------------------------------------------===//

/// Finds sets of updates that read each other's results or the same tensors,
/// each element at its own point, in the order of the block.
SmallVector<UpdateFuser::Maps> UpdateFuser::findFamilies() const {
  llvm::EquivalenceClasses<Operation *> related;
  llvm::DenseMap<Value, Operation *> readers;
  for (Operation &op : block) {
    if (!updates.contains(&op))
      continue;
    auto map = cast<linalg::GenericOp>(op);
    related.insert(map);
    for (OpOperand *input : map.getDpsInputOperands()) {
      if (!map.getMatchingIndexingMap(input).isIdentity())
        continue;
      Operation *source = input->get().getDefiningOp();
      if (source && updates.contains(source))
        related.unionSets(map, source);
      auto [other, isFirst] = readers.try_emplace(input->get(), map);
      if (!isFirst)
        related.unionSets(map, other->second);
    }
  }
  llvm::MapVector<Operation *, Maps> families;
  for (Operation &op : block)
    if (updates.contains(&op))
      families[related.getLeaderValue(&op)].push_back(
          cast<linalg::GenericOp>(op));
  SmallVector<Maps> result;
  for (auto &[leader, family] : families)
    result.push_back(std::move(family));
  return result;
}

/// True if they have the same points, and no other op reads results of any of
/// them before the last one.
bool UpdateFuser::canMerge(ArrayRef<linalg::GenericOp> family) const {
  // The most operands that a loop can hold in registers and a kernel can have.
  constexpr size_t maxOperands = 32;
  llvm::SmallDenseSet<Value> operands;
  linalg::GenericOp last = family.back();
  for (linalg::GenericOp op : family) {
    operands.insert(op->operand_begin(), op->operand_end());
    if (op.getStaticLoopRanges() != last.getStaticLoopRanges() ||
        operands.size() > maxOperands)
      return false;
    for (OpOperand &use : op->getUses()) {
      auto reader = dyn_cast<linalg::GenericOp>(use.getOwner());
      if (reader && llvm::is_contained(family, reader)) {
        if (!reader.getMatchingIndexingMap(&use).isIdentity())
          return false;
      } else if (use.getOwner()->isBeforeInBlock(last)) {
        return false;
      }
    }
  }
  return family.size() > 1;
}

/// Collects each input once, and the results that are read outside.
void MapMerger::collect() {
  for (linalg::GenericOp op : family) {
    for (OpOperand *input : op.getDpsInputOperands())
      if (!isInside(input->get().getDefiningOp()))
        inputs.try_emplace({input->get(), op.getMatchingIndexingMap(input)},
                           inputs.size());
    for (OpResult result : op->getResults())
      if (llvm::any_of(result.getUsers(),
                       [&](Operation *user) { return !isInside(user); }))
        outputs.push_back(result);
  }
}

void MapMerger::fill(Block *body) {
  IRMapping mapping;
  for (linalg::GenericOp op : family) {
    for (OpOperand *input : op.getDpsInputOperands()) {
      Value source = mapping.lookupOrNull(input->get());
      if (!isInside(input->get().getDefiningOp()))
        source = body->getArgument(
            inputs.lookup({input->get(), op.getMatchingIndexingMap(input)}));
      mapping.map(op.getMatchingBlockArgument(input), source);
    }
    for (Operation &inner : op.getBody()->without_terminator())
      b.clone(inner, mapping);
    for (auto [result, value] : llvm::zip(
             op->getResults(), op.getBody()->getTerminator()->getOperands()))
      mapping.map(result, mapping.lookupOrDefault(value));
  }
  SmallVector<Value> yielded;
  for (OpResult result : outputs)
    yielded.push_back(mapping.lookup(result));
  linalg::YieldOp::create(b, b.getInsertionBlock()->getParentOp()->getLoc(),
                          yielded);
}

void MapMerger::run() {
  collect();
  linalg::GenericOp last = family.back();
  SmallVector<Value> ins, outs;
  SmallVector<AffineMap> maps;
  SmallVector<Location> locs;
  for (auto &[input, index] : inputs) {
    ins.push_back(input.first);
    maps.push_back(input.second);
  }
  for (OpResult result : outputs) {
    auto op = cast<linalg::GenericOp>(result.getOwner());
    outs.push_back(op.getDpsInits()[result.getResultNumber()]);
    maps.push_back(b.getMultiDimIdentityMap(op.getNumLoops()));
  }
  for (linalg::GenericOp op : family)
    locs.push_back(op.getLoc());
  b.setInsertionPoint(last);
  auto merged = linalg::GenericOp::create(
      b, b.getFusedLoc(locs), ValueRange(outs).getTypes(), ins, outs, maps,
      last.getIteratorTypesArray());
  SmallVector<Type> types;
  for (Value operand : merged->getOperands())
    types.push_back(getElementTypeOrSelf(operand.getType()));
  Block *body =
      b.createBlock(&merged.getRegion(), {}, types,
                    SmallVector<Location>(types.size(), last.getLoc()));
  fill(body);
  for (auto [result, value] : llvm::zip(outputs, merged->getResults()))
    b.replaceUsesWithIf(result, value, [&](OpOperand &use) {
      return !isInside(use.getOwner());
    });
  for (linalg::GenericOp op : llvm::reverse(family))
    b.eraseOp(op);
}

void UpdateFuser::run() {
  if (returned.empty())
    return;
  findUpdates();
  // Visit readers before their operands: an op that takes in another one reads
  // the operands of that itself.
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
    if (auto generic = dyn_cast<linalg::GenericOp>(op);
        generic && !updates.contains(generic) && canRecompute(generic))
      recompute(generic);
  for (const Maps &family : findFamilies())
    if (canMerge(family))
      MapMerger(b, family).run();
}

void fuseUpdates(Operation *root) {
  NextStates states = findNextStates(root);
  root->walk([&](func::FuncOp function) {
    if (!function.isExternal())
      UpdateFuser(function, states).run();
  });
}

} // namespace mp
