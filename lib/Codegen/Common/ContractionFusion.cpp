//===- ContractionFusion.cpp - Fusion with contractions -------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Kernels read operands through maps while they pack them, and apply an
// epilogue while they store: transposes and widening casts before a contraction
// cost nothing then, nor do bias, activation and cast after it. A rounding cast
// costs nothing either, but saves memory only if its input is in memory anyway:
// a weight in f32 is rounded by each contraction that reads it.
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Codegen/Common/ContractionFusion.h"

#include "mp-opt/Dialect/Kernel/Kernel.h"
#include "mp-opt/Dialect/MP/AttributeNames.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace mp {

namespace {

template <typename SourceOp>
struct Pattern : public OpRewritePattern<SourceOp> {
  Pattern(MLIRContext *context, const FusionLimits &limits)
      : OpRewritePattern<SourceOp>(context), limits(limits) {}

  const FusionLimits &limits;
};

/// Fuses a contraction with an elementwise op that is its only user, possibly
/// with axes of the result divided in between, such as the heads of attention.
struct FuseEpilogue : public Pattern<linalg::GenericOp> {
  using Pattern::Pattern;

  LogicalResult matchAndRewrite(linalg::GenericOp op,
                                PatternRewriter &b) const override;
};

/// Collapses the operand of a transpose or cast whose result is collapsed for
/// contractions, if it keeps the axes together.
struct CollapseMoved : public Pattern<tensor::CollapseShapeOp> {
  using Pattern::Pattern;

  LogicalResult matchAndRewrite(tensor::CollapseShapeOp op,
                                PatternRewriter &b) const override;
};

/// Fuses a transpose or cast with a contraction that reads it.
struct FusePrologue : public Pattern<kernel::ContractOp> {
  using Pattern::Pattern;

  LogicalResult matchAndRewrite(kernel::ContractOp op,
                                PatternRewriter &b) const override;
};

} // namespace

/// True if the body may run wherever its operands are: loads, checks and
/// positions belong to the loop.
static bool isPlain(linalg::GenericOp op) {
  return op.getNumParallelLoops() == op.getNumLoops() &&
         op.getNumResults() == 1 && op.hasPureTensorSemantics() &&
         llvm::all_of(op.getBody()->getOperations(), [](Operation &inner) {
           return inner.getDialect() ==
                      inner.getContext()->getLoadedDialect("arith") ||
                  inner.getDialect() ==
                      inner.getContext()->getLoadedDialect("math") ||
                  isa<linalg::YieldOp>(inner);
         });
}

/// The contraction that computes `value`, possibly with axes divided after it;
/// null if it has other uses.
static kernel::ContractOp getContraction(Value value) {
  if (auto divided = value.getDefiningOp<tensor::ExpandShapeOp>();
      divided && divided->hasOneUse())
    value = divided.getSrc();
  auto contraction = value.getDefiningOp<kernel::ContractOp>();
  return contraction && contraction->hasOneUse() ? contraction : nullptr;
}

/// The operand that is a contraction with no other use.
static OpOperand *findContraction(linalg::GenericOp op) {
  for (OpOperand *operand : op.getDpsInputOperands())
    if (getContraction(operand->get()) &&
        op.getMatchingIndexingMap(operand).isPermutation())
      return operand;
  return nullptr;
}

/// The maps of a contraction whose result is divided into the axes of
/// `divided`: a dimension of each of them for that of their group.
static FailureOr<SmallVector<AffineMap>>
divideDims(ArrayRef<AffineMap> maps, tensor::ExpandShapeOp divided) {
  AffineMap stored = maps.back();
  MLIRContext *context = stored.getContext();
  ArrayRef<int64_t> sizes = divided.getResultType().getShape();
  llvm::SmallDenseMap<unsigned, ReassociationIndices> axesOf;
  auto groups = divided.getReassociationIndices();
  for (auto [expr, group] : llvm::zip(stored.getResults(), groups)) {
    if (!isa<AffineDimExpr>(expr))
      return failure();
    axesOf[cast<AffineDimExpr>(expr).getPosition()] = group;
  }
  unsigned count = 0;
  SmallVector<AffineExpr> dims, axes(sizes.size());
  for (unsigned dim = 0; dim < stored.getNumDims(); ++dim) {
    auto group = axesOf.find(dim);
    if (group == axesOf.end()) {
      dims.push_back(getAffineDimExpr(count++, context));
      continue;
    }
    AffineExpr place = getAffineConstantExpr(0, context);
    for (int64_t axis : group->second) {
      axes[axis] = getAffineDimExpr(count++, context);
      if (axis != group->second.front() && ShapedType::isDynamic(sizes[axis]))
        return failure();
      place = axis == group->second.front() ? axes[axis]
                                            : place * sizes[axis] + axes[axis];
    }
    dims.push_back(place);
  }
  SmallVector<AffineMap> made;
  for (AffineMap map : maps.drop_back())
    made.push_back(map.replaceDimsAndSymbols(dims, {}, count, 0));
  made.push_back(AffineMap::get(count, 0, axes, context));
  return made;
}

/// The dimension of the contraction for each dimension of `op`.
static FailureOr<SmallVector<AffineExpr>> mapDims(AffineMap read,
                                                  AffineMap stored) {
  SmallVector<AffineExpr> dims(read.getNumDims());
  for (auto [dim, expr] : llvm::zip(read.getResults(), stored.getResults())) {
    if (!isa<AffineDimExpr>(expr))
      return failure();
    dims[cast<AffineDimExpr>(dim).getPosition()] = expr;
  }
  return dims;
}

/// Clones the contraction's epilogue, and the body of `op` after it.
static void cloneEpilogue(PatternRewriter &b, kernel::ContractOp from,
                          linalg::GenericOp op, OpOperand *read,
                          kernel::ContractOp to) {
  Block &old = from.getEpilogue().front(), &body = *op.getBody();
  Region &region = to.getEpilogue();
  if (!region.empty())
    b.eraseBlock(&region.front());
  SmallVector<Type> types(old.getArgumentTypes());
  for (OpOperand *input : op.getDpsInputOperands())
    if (input != read)
      types.push_back(body.getArgument(input->getOperandNumber()).getType());
  OpBuilder::InsertionGuard guard(b);
  Block *block = b.createBlock(
      &region, {}, types, SmallVector<Location>(types.size(), op.getLoc()));
  IRMapping mapping;
  for (BlockArgument argument : old.getArguments())
    mapping.map(argument, block->getArgument(argument.getArgNumber()));
  for (Operation &inner : old.without_terminator())
    b.clone(inner, mapping);
  Value sum = mapping.lookupOrDefault(old.getTerminator()->getOperand(0));
  unsigned next = old.getNumArguments();
  for (OpOperand *input : op.getDpsInputOperands())
    mapping.map(body.getArgument(input->getOperandNumber()),
                input == read ? sum : Value(block->getArgument(next++)));
  for (Operation &inner : body.without_terminator())
    b.clone(inner, mapping);
  kernel::YieldOp::create(
      b, op.getLoc(),
      mapping.lookupOrDefault(body.getTerminator()->getOperand(0)));
}

/// A generic op of one operand that it moves, and may cast.
static OpOperand *findMovedOrCast(Value value) {
  auto op = value.getDefiningOp<linalg::GenericOp>();
  if (!op || op.getNumDpsInputs() != 1 || op.getNumDpsInits() != 1 ||
      op.getNumParallelLoops() != op.getNumLoops() ||
      !op.getMatchingIndexingMap(op.getDpsInitOperand(0)).isPermutation())
    return nullptr;
  OpOperand *input = op.getDpsInputOperand(0);
  if (!isa<RankedTensorType>(input->get().getType()) ||
      !op.getMatchingIndexingMap(input).isPermutation())
    return nullptr;
  Value yielded = op.getBody()->getTerminator()->getOperand(0);
  if (Operation *cast = yielded.getDefiningOp();
      isa_and_nonnull<arith::ExtFOp, arith::TruncFOp>(cast))
    yielded = cast->getOperand(0);
  return yielded == op.getBody()->getArgument(0) ? input : nullptr;
}

/// The function's argument that `value` is, possibly moved or reshaped.
static BlockArgument findArgument(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    OpOperand *moved = findMovedOrCast(value);
    if (moved && getElementTypeOrSelf(value.getType()) ==
                     getElementTypeOrSelf(moved->get().getType()))
      value = moved->get();
    else if (isa<tensor::CastOp, tensor::CollapseShapeOp, tensor::ExpandShapeOp,
                 tensor::ExtractSliceOp>(op))
      value = op->getOperand(0);
    else
      return BlockArgument();
  }
  auto argument = cast<BlockArgument>(value);
  return isa<func::FuncOp>(argument.getOwner()->getParentOp())
             ? argument
             : BlockArgument();
}

/// True if `next`, which may be computed in the memory of a state, is computed
/// after `reader`.
static bool isComputedBehind(Value next, Operation *reader) {
  while (Operation *op = next.getDefiningOp()) {
    Operation *ancestor = op->getBlock()->findAncestorOpInBlock(*reader);
    if (!ancestor || !ancestor->isBeforeInBlock(op))
      return false;
    // Follow the tensor that it overwrites, or is another shape of.
    if (auto result = dyn_cast<DestinationStyleOpInterface>(op))
      next = result.getTiedOpOperand(cast<OpResult>(next))->get();
    else if (isa<tensor::CastOp, tensor::CollapseShapeOp, tensor::ExpandShapeOp,
                 tensor::ReshapeOp>(op))
      next = op->getOperand(0);
    else
      return true;
    if (next.getDefiningOp<tensor::EmptyOp>())
      return true;
  }
  return true;
}

/// True if `value` is in memory for as long as `reader` may read it: it is an
/// argument, and not a state that may have been replaced by then.
static bool isThereAnyway(Value value, Operation *reader,
                          const NextStates &states) {
  BlockArgument argument = findArgument(value);
  if (!argument)
    return false;
  auto found = states.find(argument);
  return found == states.end() ||
         isComputedBehind(found->second->get(), reader);
}

LogicalResult FuseEpilogue::matchAndRewrite(linalg::GenericOp op,
                                            PatternRewriter &b) const {
  if (!isPlain(op))
    return b.notifyMatchFailure(op, "not elementwise");
  if (op.payloadUsesValueFromOperand(op.getDpsInitOperand(0)))
    return b.notifyMatchFailure(op, "reads what it overwrites");
  OpOperand *read = findContraction(op);
  if (!read)
    return b.notifyMatchFailure(op, "reads no contraction of its own");
  kernel::ContractOp contraction = getContraction(read->get());
  // It is computed where the op is, and reads its operands there.
  for (unsigned side : {0, 1})
    if (contraction.getRounding(side) &&
        !isThereAnyway(contraction->getOperand(side), op, limits.states))
      return b.notifyMatchFailure(op, "a weight may have been replaced");
  SmallVector<AffineMap> maps = contraction.getMaps();
  auto divided = read->get().getDefiningOp<tensor::ExpandShapeOp>();
  if (divided) {
    auto more = divideDims(maps, divided);
    if (failed(more))
      return b.notifyMatchFailure(op, "axes of sizes that are not known");
    maps = *more;
  }
  auto dims = mapDims(op.getMatchingIndexingMap(read), maps.back());
  if (failed(dims))
    return b.notifyMatchFailure(op, "the contraction stores with strides");
  unsigned numDims = maps.front().getNumDims();
  auto rename = [&](AffineMap map) {
    return map.replaceDimsAndSymbols(*dims, {}, numDims, 0);
  };
  SmallVector<Value> extras(contraction.getExtras());
  SmallVector<AffineMap> made(ArrayRef<AffineMap>(maps).drop_back());
  for (OpOperand *input : op.getDpsInputOperands()) {
    if (input == read)
      continue;
    if (limits.updatedApart.contains(input->get()))
      return b.notifyMatchFailure(op, "an update that writes a copy as well");
    AffineMap map = op.getMatchingIndexingMap(input);
    if (!isa<RankedTensorType>(input->get().getType()) ||
        !map.isProjectedPermutation(/*allowZeroInResults=*/true))
      return b.notifyMatchFailure(op, "an operand that kernels do not read");
    extras.push_back(input->get());
    made.push_back(rename(map));
  }
  OpOperand *init = op.getDpsInitOperand(0);
  made.push_back(rename(op.getMatchingIndexingMap(init)));
  auto fused = kernel::ContractOp::create(
      b, b.getFusedLoc({contraction.getLoc(), op.getLoc()}), contraction.getA(),
      contraction.getB(), extras, contraction.getSizes(), init->get(), made);
  fused.copyRounding(contraction);
  cloneEpilogue(b, contraction, op, read, fused);
  b.replaceOp(op, fused.getResult());
  if (divided)
    b.eraseOp(divided);
  b.eraseOp(contraction);
  return success();
}

/// The operand of a generic op that only moves or casts it, if `reader` may as
/// well read the operand.
static OpOperand *findMoved(Value value, Operation *reader,
                            const NextStates &states) {
  OpOperand *moved = findMovedOrCast(value);
  if (!moved)
    return nullptr;
  auto isNarrow = [](Type type) { return type.isBF16() || type.isF16(); };
  Type from = getElementTypeOrSelf(moved->get().getType());
  Type to = getElementTypeOrSelf(value.getType());
  bool isRounded = from.isF32() && isNarrow(to);
  if (from == to || (isNarrow(from) && to.isF32()) ||
      (isRounded && isThereAnyway(moved->get(), reader, states)))
    return moved;
  return nullptr;
}

/// The axes of `mover`'s operand that become one axis each, in the order of the
/// results' axes. Fails if these are not next to each other.
static FailureOr<SmallVector<ReassociationIndices>>
findCollapsed(linalg::GenericOp mover, OpOperand *moved,
              ArrayRef<ReassociationIndices> groups) {
  AffineMap stored = mover.getMatchingIndexingMap(mover.getDpsInitOperand(0));
  // The axis of the operand that an axis of the result is.
  AffineMap axes =
      stored.compose(inversePermutation(mover.getMatchingIndexingMap(moved)));
  SmallVector<ReassociationIndices> result;
  for (const ReassociationIndices &group : groups) {
    result.emplace_back();
    for (int64_t axis : group) {
      int64_t from = axes.getDimPosition(axis);
      if (!result.back().empty() && result.back().back() + 1 != from)
        return failure();
      result.back().push_back(from);
    }
  }
  return result;
}

LogicalResult CollapseMoved::matchAndRewrite(tensor::CollapseShapeOp op,
                                             PatternRewriter &b) const {
  OpOperand *moved = nullptr;
  for (Operation *user : op->getUsers()) {
    moved = findMoved(op.getSrc(), user, limits.states);
    if (!moved || !isa<kernel::ContractOp>(user))
      return b.notifyMatchFailure(op, "nothing that kernels read through");
  }
  if (!moved)
    return b.notifyMatchFailure(op, "not used");
  auto mover = cast<linalg::GenericOp>(moved->getOwner());
  auto groups = op.getReassociationIndices();
  auto collapsed = findCollapsed(mover, moved, groups);
  if (failed(collapsed))
    return b.notifyMatchFailure(op, "the axes are moved apart");
  auto order = llvm::to_vector(llvm::seq<int64_t>(groups.size()));
  llvm::sort(order, [&](int64_t first, int64_t second) {
    return (*collapsed)[first].front() < (*collapsed)[second].front();
  });
  SmallVector<ReassociationIndices> sourceGroups;
  SmallVector<AffineExpr> read;
  for (int64_t group : order) {
    sourceGroups.push_back((*collapsed)[group]);
    read.push_back(b.getAffineDimExpr(group));
  }
  Value source = tensor::CollapseShapeOp::create(b, op.getLoc(), moved->get(),
                                                 sourceGroups);
  Value init = tensor::CollapseShapeOp::create(
      b, op.getLoc(), mover.getDpsInitOperand(0)->get(), groups);
  unsigned rank = groups.size();
  SmallVector<AffineMap> maps = {AffineMap::get(rank, 0, read, b.getContext()),
                                 b.getMultiDimIdentityMap(rank)};
  auto made = linalg::GenericOp::create(
      b, op.getLoc(), init.getType(), source, init, maps,
      SmallVector<utils::IteratorType>(rank, utils::IteratorType::parallel));
  b.cloneRegionBefore(mover.getRegion(), made.getRegion(),
                      made.getRegion().end());
  b.replaceOp(op, made.getResults());
  return success();
}

LogicalResult FusePrologue::matchAndRewrite(kernel::ContractOp op,
                                            PatternRewriter &b) const {
  for (unsigned side = 0; side < 2; ++side) {
    Value value = op->getOperand(side);
    OpOperand *moved = findMoved(value, op, limits.states);
    Type from = getElementTypeOrSelf(value.getType());
    Type to = moved ? getElementTypeOrSelf(moved->get().getType()) : from;
    // Elements are cast once: widened or rounded.
    if (!moved || (from != to && op.getRounding(side)))
      continue;
    auto mover = cast<linalg::GenericOp>(moved->getOwner());
    // The mover's operand is read in place of its result: through both maps.
    AffineMap stored = mover.getMatchingIndexingMap(mover.getDpsInitOperand(0));
    AffineMap source =
        mover.getMatchingIndexingMap(moved).compose(inversePermutation(stored));
    SmallVector<AffineMap> maps = op.getMaps();
    maps[side] = source.compose(maps[side]);
    b.modifyOpInPlace(op, [&] {
      op->setOperand(side, moved->get());
      if (to.getIntOrFloatBitWidth() > from.getIntOrFloatBitWidth())
        side == 0 ? op.setRoundA(from) : op.setRoundB(from);
      op.setIndexingMapsAttr(b.getAffineMapArrayAttr(maps));
    });
    return success();
  }
  return b.notifyMatchFailure(op, "nothing to read through");
}

NextStates findNextStates(Operation *root) {
  NextStates states;
  root->walk([&](func::FuncOp function) {
    if (function.isExternal())
      return;
    Block &block = function.getBody().front();
    for (OpOperand &next : block.getTerminator()->getOpOperands())
      if (auto state = function.getResultAttrOfType<IntegerAttr>(
              next.getOperandNumber(), mark::state))
        states[block.getArgument(state.getInt())] = &next;
  });
  return states;
}

/// True if contractions read `value`, which is in f32, in 16 bits.
static bool isRoundedByContractions(Value value) {
  return llvm::any_of(value.getUses(), [](OpOperand &use) {
    Operation *user = use.getOwner();
    if (auto contract = dyn_cast<kernel::ContractOp>(user))
      return use.getOperandNumber() < 2 &&
             (contract.getRounding(use.getOperandNumber()) ||
              !getElementTypeOrSelf(use.get()).isF32());
    // Checks of indices have no results.
    if (user->getNumResults() != 1)
      return false;
    bool isView = isa<tensor::CastOp, tensor::CollapseShapeOp,
                      tensor::ExpandShapeOp, tensor::ExtractSliceOp>(user);
    bool isMoved =
        isa<linalg::GenericOp>(user) && findMovedOrCast(user->getResult(0));
    return (isView || isMoved) && isRoundedByContractions(user->getResult(0));
  });
}

FusionLimits FusionLimits::find(Operation *root, bool keepsUpdates) {
  FusionLimits limits;
  limits.states = findNextStates(root);
  if (!keepsUpdates)
    return limits;
  for (auto [state, next] : limits.states)
    if (getElementTypeOrSelf(state).isF32() && isRoundedByContractions(state))
      limits.updatedApart.insert(state);
  return limits;
}

void populateContractionFusionPatterns(RewritePatternSet &patterns,
                                       const FusionLimits &limits) {
  patterns.add<CollapseMoved, FuseEpilogue, FusePrologue>(patterns.getContext(),
                                                          limits);
  kernel::populateSlicePatterns(patterns);
  kernel::populateOutOfBoundsPositionPatterns(patterns);
}

} // namespace mp
