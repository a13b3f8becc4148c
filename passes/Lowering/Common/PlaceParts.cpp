//===- PlaceParts.cpp - Concatenations of many parts ----------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A concatenation is a chain of tensor.insert_slice ops. To bufferization all
// of a chain and of its parts is one set of aliases, in which it compares each
// read with each write, again for each op: 128 parts took a minute. Here a long
// chain gets its buffer before that analysis, and each part a view of it that
// no other tensor shares. A part is computed in its view if only the chain
// reads it and only the op that computes it has its memory; it is copied else.
// The same holds for chains of any length whose parts one op computes, as the
// gradients of queries, keys and values: bufferization would copy all but the
// first, which it inserts into a tensor that begins after the op.
//
//===----------------------------------------------------------------------===//

#include "Lowering/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Dominance.h"

namespace mp {
#define GEN_PASS_DEF_PLACEPARTS
#include "Lowering/Passes.h.inc"
} // namespace mp

using namespace mlir;

namespace {

using Slice = tensor::InsertSliceOp;

/// Slices of one tensor, which begins empty, in the order of their insertion.
struct Chain {
  tensor::EmptyOp root;
  SmallVector<Slice> slices;
};

struct PlaceParts : public mp::impl::PlacePartsBase<PlaceParts> {
  using PlacePartsBase::PlacePartsBase;

  void runOnOperation() override;

private:
  bool isAvailable(Operation *op, Operation *where) const;
  Operation *getStart(Slice slice) const;
  SmallVector<Operation *> getPlaces(Chain &chain) const;
  Value findTarget(Chain &chain) const;
  Value getBuffer(Chain &chain, MutableArrayRef<Operation *> places) const;
  void place(Chain &chain);

  DominanceInfo *dominance = nullptr;
};

} // namespace

/// The chain that ends with `last`, or none.
static Chain getChain(Slice last) {
  Chain chain;
  for (Slice slice = last; slice;
       slice = slice.getDest().getDefiningOp<Slice>()) {
    if (slice != last &&
        (!slice->hasOneUse() || slice->getBlock() != last->getBlock()))
      return {};
    chain.slices.push_back(slice);
  }
  chain.root = chain.slices.back().getDest().getDefiningOp<tensor::EmptyOp>();
  if (!chain.root || !chain.root->hasOneUse())
    return {};
  std::reverse(chain.slices.begin(), chain.slices.end());
  return chain;
}

static bool isLast(Slice slice) {
  if (!slice->hasOneUse())
    return true;
  OpOperand &use = *slice->use_begin();
  auto next = dyn_cast<Slice>(use.getOwner());
  return !next || &next.getDestMutable() != &use;
}

/// An index as a sum of a value, or none, and a constant.
static std::pair<Value, int64_t> split(OpFoldResult index) {
  if (std::optional<int64_t> constant = getConstantIntValue(index))
    return {Value(), *constant};
  auto value = cast<Value>(index);
  if (auto sum = value.getDefiningOp<arith::AddIOp>())
    if (std::optional<int64_t> more = getConstantIntValue(sum.getRhs()))
      return {sum.getLhs(), *more};
  return {value, 0};
}

static bool isSum(OpFoldResult sum, OpFoldResult x, OpFoldResult y) {
  auto [base, constant] = split(sum);
  auto [xBase, xConstant] = split(x);
  auto [yBase, yConstant] = split(y);
  if ((!xBase || !yBase) && base == (xBase ? xBase : yBase) &&
      constant == xConstant + yConstant)
    return true;
  auto value = dyn_cast<Value>(sum);
  auto add = value ? value.getDefiningOp<arith::AddIOp>() : nullptr;
  return add && ((isEqualConstantIntOrValue(add.getLhs(), x) &&
                  isEqualConstantIntOrValue(add.getRhs(), y)) ||
                 (isEqualConstantIntOrValue(add.getLhs(), y) &&
                  isEqualConstantIntOrValue(add.getRhs(), x)));
}

/// True if each slice begins where the one before it ends, on one axis.
static bool areApart(MutableArrayRef<Slice> slices) {
  auto follows = [&](int64_t axis) {
    if (!isConstantIntValue(slices.front().getMixedOffsets()[axis], 0))
      return false;
    for (unsigned i = 0; i < slices.size(); ++i)
      if (!isConstantIntValue(slices[i].getMixedStrides()[axis], 1) ||
          (i && !isSum(slices[i].getMixedOffsets()[axis],
                       slices[i - 1].getMixedOffsets()[axis],
                       slices[i - 1].getMixedSizes()[axis])))
        return false;
    return true;
  };
  return llvm::any_of(llvm::seq(slices.front().getType().getRank()), follows);
}

/// True if all operands of `op` but tensors are defined before `where`.
bool PlaceParts::isAvailable(Operation *op, Operation *where) const {
  return llvm::all_of(op->getOperands(), [&](Value value) {
    return isa<TensorType>(value.getType()) ||
           dominance->properlyDominates(value, where);
  });
}

/// The axes of the slice's part that are collapsed before it is inserted.
static tensor::CollapseShapeOp getCollapse(Slice slice) {
  return slice.getSource().getDefiningOp<tensor::CollapseShapeOp>();
}

/// The op that computes the slice's part.
static Operation *getMaker(Slice slice) {
  tensor::CollapseShapeOp collapse = getCollapse(slice);
  Value part = collapse ? collapse.getSrc() : slice.getSource();
  return part.getDefiningOp();
}

/// The empty tensor whose memory the slice's part is computed in, if no other
/// tensor is in that memory before the part or after it.
static Operation *getOwnMemory(Slice slice) {
  Value value = slice.getSource();
  if (auto collapse = getCollapse(slice)) {
    if (!value.hasOneUse())
      return nullptr;
    value = collapse.getSrc();
  }
  for (;;) {
    if (!value.hasOneUse() || !value.getDefiningOp() ||
        value.getDefiningOp()->getBlock() != slice->getBlock())
      return nullptr;
    if (auto empty = value.getDefiningOp<tensor::EmptyOp>())
      return empty == getMaker(slice) ? nullptr : empty;
    auto op = value.getDefiningOp<DestinationStyleOpInterface>();
    if (!op || !op.hasPureTensorSemantics())
      return nullptr;
    value = op.getTiedOpOperand(cast<OpResult>(value))->get();
  }
}

/// True if the parts are results of one op.
static bool areOfOneOp(ArrayRef<Slice> slices) {
  Operation *maker = slices.empty() ? nullptr : getMaker(slices.front());
  return maker && maker->getNumResults() > 1 &&
         llvm::all_of(slices, [&](Slice slice) {
           return getMaker(slice) == maker && getOwnMemory(slice);
         });
}

/// The first of `op` and of those `places` that are not null.
static Operation *getFirst(Operation *op, ArrayRef<Operation *> places) {
  for (Operation *place : places)
    if (place && place->isBeforeInBlock(op))
      op = place;
  return op;
}

/// The op before which each part gets its memory; null for a part that is
/// copied.
SmallVector<Operation *> PlaceParts::getPlaces(Chain &chain) const {
  SmallVector<Operation *> places(chain.slices.size());
  if (!areApart(chain.slices))
    return places;
  for (auto [slice, place] : llvm::zip_equal(chain.slices, places)) {
    Operation *start = getStart(slice);
    if (start && isAvailable(slice, start) && isAvailable(chain.root, start))
      place = start;
  }
  return places;
}

/// The op that a view for the slice's part has to be before; null if the part
/// is not computed in such a view.
Operation *PlaceParts::getStart(Slice slice) const {
  auto last = slice.getSource().getDefiningOp<Slice>();
  if (!last)
    return getOwnMemory(slice);
  // The inner chain will find the view as its target.
  Chain inner = last->hasOneUse() ? getChain(last) : Chain();
  if (inner.slices.size() < minParts || last->getBlock() != slice->getBlock())
    return nullptr;
  return getFirst(inner.slices.front(), getPlaces(inner));
}

/// The memory to which the only reader of the chain's result copies it; null if
/// there is none, or if it is not defined before the first slice.
Value PlaceParts::findTarget(Chain &chain) const {
  Slice last = chain.slices.back();
  if (!last->hasOneUse())
    return {};
  auto reader =
      dyn_cast<bufferization::MaterializeInDestinationOp>(*last->user_begin());
  if (!reader || reader->getBlock() != last->getBlock())
    return {};
  Value target = reader.getDest();
  if (auto tensor = target.getDefiningOp<bufferization::ToTensorOp>()) {
    if (!tensor.getWritable() || !tensor->hasOneUse())
      return {};
    target = tensor.getBuffer();
  }
  if (!isa<MemRefType>(target.getType()) ||
      !dominance->properlyDominates(target, chain.slices.front()))
    return {};
  return target;
}

/// The memory of the chain's result. Sets those `places` to null that come
/// before it: their parts are copied.
Value PlaceParts::getBuffer(Chain &chain,
                            MutableArrayRef<Operation *> places) const {
  if (Value target = findTarget(chain)) {
    for (Operation *&place : places)
      if (place && !dominance->properlyDominates(target, place))
        place = nullptr;
    return target;
  }
  OpBuilder b(getFirst(chain.slices.front(), places));
  tensor::EmptyOp root = chain.root;
  auto type = MemRefType::get(root.getType().getShape(),
                              root.getType().getElementType());
  return memref::AllocOp::create(b, root.getLoc(), type, root.getDynamicSizes(),
                                 b.getI64IntegerAttr(64));
}

static Value getView(OpBuilder &b, Slice slice, Value buffer) {
  SmallVector<OpFoldResult> offsets = slice.getMixedOffsets(),
                            sizes = slice.getMixedSizes(),
                            strides = slice.getMixedStrides();
  MemRefType type = memref::SubViewOp::inferRankReducedResultType(
      slice.getSourceType().getShape(), cast<MemRefType>(buffer.getType()),
      offsets, sizes, strides);
  return memref::SubViewOp::create(b, slice.getLoc(), type, buffer, offsets,
                                   sizes, strides);
}

static Value toTensor(OpBuilder &b, Location loc, Type type, Value buffer) {
  return bufferization::ToTensorOp::create(b, loc, type, buffer,
                                           /*restrict=*/true,
                                           /*writable=*/true);
}

static void copyPart(Slice slice, Value buffer) {
  OpBuilder b(slice);
  RankedTensorType type = slice.getSourceType();
  // Any memory: the part may be a part of another tensor.
  SmallVector<int64_t> strides(type.getRank(), ShapedType::kDynamic);
  auto layout =
      StridedLayoutAttr::get(b.getContext(), ShapedType::kDynamic, strides);
  Value source = bufferization::ToBufferOp::create(
      b, slice.getLoc(),
      MemRefType::get(type.getShape(), type.getElementType(), layout),
      slice.getSource(), /*read_only=*/true);
  memref::CopyOp::create(b, slice.getLoc(), source, getView(b, slice, buffer));
}

/// Gives the part memory, with a view created before `place`.
static void placePart(Slice slice, Operation *place, Value buffer) {
  OpBuilder b(place);
  Value view = getView(b, slice, buffer);
  auto empty = dyn_cast<tensor::EmptyOp>(place);
  if (empty && empty == getOwnMemory(slice)) {
    Value whole = view;
    if (auto collapse = getCollapse(slice))
      whole = memref::ExpandShapeOp::create(
          b, empty.getLoc(), empty.getType().getShape(), view,
          collapse.getReassociationIndices(), empty.getMixedSizes());
    empty.replaceAllUsesWith(
        toTensor(b, empty.getLoc(), empty.getType(), whole));
    empty.erase();
  }
  b.setInsertionPoint(slice);
  bufferization::MaterializeInDestinationOp::create(
      b, slice.getLoc(), TypeRange(), slice.getSource(), view,
      /*restrict=*/true, /*writable=*/true);
}

void PlaceParts::place(Chain &chain) {
  SmallVector<Operation *> places = getPlaces(chain);
  Value buffer = getBuffer(chain, places);
  for (auto [slice, place] : llvm::zip_equal(chain.slices, places)) {
    if (place)
      placePart(slice, place, buffer);
    else
      copyPart(slice, buffer);
  }
  Slice last = chain.slices.back();
  OpBuilder b(last);
  last.replaceAllUsesWith(toTensor(b, last.getLoc(), last.getType(), buffer));
  for (Slice slice : llvm::reverse(chain.slices))
    slice.erase();
  chain.root.erase();
}

void PlaceParts::runOnOperation() {
  SmallVector<Slice> ends;
  getOperation()->walk([&](Slice slice) {
    if (isLast(slice))
      ends.push_back(slice);
  });
  DominanceInfo info(getOperation());
  dominance = &info;
  // A chain of chains is first, so that they find their memory in it.
  for (Slice last : llvm::reverse(ends))
    if (Chain chain = getChain(last);
        chain.slices.size() >= minParts || areOfOneOp(chain.slices))
      place(chain);
  dominance = nullptr;
}
