//===- Lanes.cpp - Vectors of neighbouring elements -----------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Lanes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Interfaces/ViewLikeInterface.h"

using namespace mlir;

namespace mp {

int64_t getElementBytes(Type element) {
  return element.isIntOrFloat() ? (element.getIntOrFloatBitWidth() + 7) / 8 : 8;
}

static bool isLaneWiseOp(Operation &op) {
  return OpTrait::hasElementwiseMappableTraits(&op) && isPure(&op) &&
         op.getNumRegions() == 0 &&
         llvm::all_of(op.getResultTypes(),
                      [](Type type) { return type.isIntOrIndexOrFloat(); });
}

bool isLaneWise(Block &block, bool takesIndices) {
  return llvm::all_of(block.without_terminator(), [&](Operation &op) {
    return isLaneWiseOp(op) || isa<arith::ConstantOp>(op) ||
           (takesIndices && isa<linalg::IndexOp>(op));
  });
}

//===----------------------------------------------------------------------===//
// Alignment
//===----------------------------------------------------------------------===//

/// True if the element that a subview begins with is a multiple of `width`
/// elements after the first one of its source.
static bool beginsAtMultiple(memref::SubViewOp view, int64_t width) {
  auto [strides, offset] = view.getSourceType().getStridesAndOffset();
  for (auto [begin, stride] : llvm::zip(view.getMixedOffsets(), strides)) {
    if (!ShapedType::isDynamic(stride) && stride % width == 0)
      continue;
    std::optional<int64_t> known = getConstantIntValue(begin);
    if (!known || (*known != 0 && ShapedType::isDynamic(stride)) ||
        *known * stride % width != 0)
      return false;
  }
  return true;
}

static bool isAlignedMemory(Value memref, int64_t width) {
  while (Operation *op = memref.getDefiningOp()) {
    if (auto subview = dyn_cast<memref::SubViewOp>(op)) {
      if (!beginsAtMultiple(subview, width))
        return false;
      memref = subview.getSource();
    } else if (auto view = dyn_cast<memref::ViewOp>(op)) {
      // Places of the arena are aligned to more than an access.
      std::optional<int64_t> shift = getConstantIntValue(view.getByteShift());
      return shift && *shift % accessBytes == 0;
    } else if (auto cast = dyn_cast<memref::ReinterpretCastOp>(op)) {
      int64_t begin = cast.getStaticOffset(0);
      if (ShapedType::isDynamic(begin) || begin % width != 0)
        return false;
      memref = cast.getSource();
    } else if (isa<memref::CollapseShapeOp, memref::ExpandShapeOp,
                   memref::CastOp, memref::MemorySpaceCastOp>(op)) {
      memref = op->getOperand(0);
    } else {
      return !isa<ViewLikeOpInterface>(op);
    }
  }
  return true;
}

int64_t getAlignedElements(Value memref, int64_t most) {
  while (most > 1 && !isAlignedMemory(memref, most))
    most /= 2;
  return most;
}

//===----------------------------------------------------------------------===//
// Code
//===----------------------------------------------------------------------===//

Type LaneCode::getType(Type element) const {
  return width == 1 ? element : VectorType::get({width}, element);
}

Value LaneCode::broadcast(Value value) {
  if (width == 1 || isa<VectorType>(value.getType()))
    return value;
  return vector::BroadcastOp::create(b, loc, getType(value.getType()), value);
}

static SmallVector<int64_t> countUp(int64_t begin, int64_t end) {
  return llvm::to_vector(llvm::seq<int64_t>(begin, end));
}

/// The lanes of two vectors, one after the other.
static Value join(OpBuilder &b, Location loc, Value first, Value second) {
  int64_t size = cast<VectorType>(first.getType()).getNumElements() +
                 cast<VectorType>(second.getType()).getNumElements();
  return vector::ShuffleOp::create(b, loc, first, second, countUp(0, size));
}

/// The elements of one access. A vector of bits is packed, but memory has a
/// byte for each.
int64_t LaneCode::getStep(Value memref) const {
  Type element = getElementTypeOrSelf(memref.getType());
  if (element.isInteger(1))
    return 1;
  int64_t most = std::max<int64_t>(1, accessBytes / getElementBytes(element));
  return getAlignedElements(memref, std::min(width, most));
}

Value LaneCode::load(Value memref, Place place) {
  Type element = getElementTypeOrSelf(memref.getType());
  if (width == 1)
    return memref::LoadOp::create(b, loc, memref, place(0));
  int64_t step = getStep(memref);
  if (step == 1) {
    SmallVector<Value> elements;
    for (int64_t lane = 0; lane < width; ++lane)
      elements.push_back(memref::LoadOp::create(b, loc, memref, place(lane)));
    return vector::FromElementsOp::create(
        b, loc, cast<VectorType>(getType(element)), elements);
  }
  auto type = VectorType::get({step}, element);
  llvm::MaybeAlign alignment(step * getElementBytes(element));
  Value all;
  for (int64_t lane = 0; lane < width; lane += step) {
    Value piece = vector::LoadOp::create(b, loc, type, memref, place(lane),
                                         /*nontemporal=*/false, alignment);
    if (step == width)
      return piece;
    all = all ? join(b, loc, all, piece) : piece;
  }
  return all;
}

void LaneCode::store(Value value, Value memref, Place place) {
  Type element = getElementTypeOrSelf(memref.getType());
  if (width == 1) {
    memref::StoreOp::create(b, loc, value, memref, place(0));
    return;
  }
  int64_t step = getStep(memref);
  if (step == 1) {
    for (int64_t lane = 0; lane < width; ++lane) {
      Value one = vector::ExtractOp::create(b, loc, value, lane);
      memref::StoreOp::create(b, loc, one, memref, place(lane));
    }
    return;
  }
  llvm::MaybeAlign alignment(step * getElementBytes(element));
  for (int64_t lane = 0; lane < width; lane += step) {
    Value piece = value;
    if (step != width)
      piece = vector::ShuffleOp::create(b, loc, value, value,
                                        countUp(lane, lane + step));
    vector::StoreOp::create(b, loc, piece, memref, place(lane),
                            /*nontemporal=*/false, alignment);
  }
}

Value LaneCode::countFrom(Value first) {
  if (width == 1)
    return first;
  auto type = cast<VectorType>(getType(b.getIndexType()));
  SmallVector<Attribute> numbers;
  for (int64_t lane : countUp(0, width))
    numbers.push_back(b.getIndexAttr(lane));
  Value steps =
      arith::ConstantOp::create(b, loc, DenseElementsAttr::get(type, numbers));
  return arith::AddIOp::create(b, loc, broadcast(first), steps);
}

SmallVector<Value> LaneCode::emit(Block &block, IRMapping &mapping,
                                  function_ref<Value(uint64_t)> getIndex) {
  auto getLanes = [&](Value value) {
    Value mapped = mapping.lookupOrDefault(value);
    if (width == 1 || isa<VectorType>(mapped.getType()))
      return mapped;
    mapped = broadcast(mapped);
    mapping.map(value, mapped);
    return mapped;
  };
  for (Operation &op : block.without_terminator()) {
    // Values that all points share are computed once.
    if (!isa<linalg::IndexOp>(op) &&
        llvm::none_of(op.getOperands(), [&](Value operand) {
          return isa<VectorType>(mapping.lookupOrDefault(operand).getType());
        })) {
      b.clone(op, mapping);
      continue;
    }
    if (auto index = dyn_cast<linalg::IndexOp>(op)) {
      mapping.map(index.getResult(), getIndex(index.getDim()));
      continue;
    }
    SmallVector<Value> values;
    for (Value operand : op.getOperands())
      values.push_back(getLanes(operand));
    SmallVector<Type> types;
    for (Type type : op.getResultTypes())
      types.push_back(getType(type));
    OperationState state(op.getLoc(), op.getName(), values, types,
                         op.getAttrs());
    mapping.map(op.getResults(), b.create(state)->getResults());
  }
  SmallVector<Value> results;
  for (Value value : block.getTerminator()->getOperands())
    results.push_back(getLanes(value));
  return results;
}

} // namespace mp
