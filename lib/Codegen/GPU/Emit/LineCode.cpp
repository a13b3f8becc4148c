//===- LineCode.cpp - Neighbours along a dimension ------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LineCode.h"

#include "Lanes.h"
#include "ThreadLoops.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace mp {

int64_t LineCode::getExtent(unsigned dim) const {
  return *getConstantIntValue(dims[dim].extent);
}

/// True if neighbours along the inner dimension are neighbours in memory.
bool LineCode::isLine(const LoopOperand &operand) const {
  auto type = dyn_cast<MemRefType>(operand.memref.getType());
  if (!type || operand.exprs.empty() ||
      operand.exprs.back() != getAffineDimExpr(inner, b.getContext()))
    return false;
  for (AffineExpr expr : ArrayRef<AffineExpr>(operand.exprs).drop_back())
    if (expr.isFunctionOfDim(inner))
      return false;
  auto [strides, offset] = type.getStridesAndOffset();
  return strides.back() == 1 && !type.getElementType().isInteger(1);
}

/// True if vectors of `width` elements that are aligned along the inner
/// dimension are aligned in memory.
static bool isAlignedLine(const LoopOperand &operand, int64_t width) {
  auto type = cast<MemRefType>(operand.memref.getType());
  auto [strides, offset] = type.getStridesAndOffset();
  auto isMultiple = [&](int64_t value) {
    return !ShapedType::isDynamic(value) && value % width == 0;
  };
  return isMultiple(offset) &&
         llvm::all_of(ArrayRef<int64_t>(strides).drop_back(), isMultiple);
}

/// The fewest vectors of a line that need not be a whole number of vectors.
constexpr int64_t minRaggedVectors = 16;

int64_t LineCode::chooseLanes(bool isMap) {
  Block &block = op.getRegion().front();
  if (dims.empty() || !isLaneWise(block, /*takesIndices=*/isMap))
    return 1;
  int64_t width = accessBytes;
  bool hasLine = false;
  // The results of a reduction are stored one by one.
  size_t numLoaded = operands.size() - (isMap ? 0 : op.getNumDpsInits());
  for (const LoopOperand &operand : ArrayRef(operands).take_front(numLoaded)) {
    auto type = dyn_cast<MemRefType>(operand.memref.getType());
    if (!type || !type.getElementType().isIntOrFloat())
      continue;
    int64_t bytes = (type.getElementTypeBitWidth() + 7) / 8;
    if (!isLine(operand))
      continue;
    hasLine = true;
    width = std::min(width, accessBytes / bytes);
    while (width > 1 && !isAlignedLine(operand, width))
      width /= 2;
  }
  if (!hasLine)
    return 1;
  // A vector must be within a line. Maps compute the last points of long lines
  // one by one.
  int64_t extent = getExtent(inner);
  if (isMap && extent >= minRaggedVectors * width)
    return width;
  while (extent % width != 0)
    width /= 2;
  return width;
}

/// Neighbouring elements, or one that all points read.
Value LineCode::loadLanes(const LoopOperand &operand) {
  Type element = getElementTypeOrSelf(operand.memref.getType());
  auto vector = VectorType::get({lanes}, element);
  if (!isa<MemRefType>(operand.memref.getType()))
    return operand.memref;
  if (isLine(operand)) {
    int64_t bytes = lanes * (element.getIntOrFloatBitWidth() / 8);
    return vector::LoadOp::create(b, loc, vector, operand.memref,
                                  getIndices(operand), /*nontemporal=*/false,
                                  llvm::MaybeAlign(bytes));
  }
  auto load = [&] {
    return memref::LoadOp::create(b, loc, operand.memref, getIndices(operand))
        .getResult();
  };
  if (llvm::none_of(operand.exprs, [&](AffineExpr expr) {
        return expr.isFunctionOfDim(inner);
      }))
    return load();
  SmallVector<Value> elements;
  Value first = indices[inner];
  for (int64_t lane = 0; lane < lanes; ++lane) {
    indices[inner] =
        arith::AddIOp::create(b, loc, first, makeIndex(b, loc, lane));
    elements.push_back(load());
  }
  indices[inner] = first;
  return vector::FromElementsOp::create(b, loc, vector, elements);
}

void LineCode::storeLanes(const LoopOperand &operand, Value value) {
  if (isLine(operand)) {
    Type element = getElementTypeOrSelf(operand.memref.getType());
    int64_t bytes = lanes * (element.getIntOrFloatBitWidth() / 8);
    vector::StoreOp::create(b, loc, value, operand.memref, getIndices(operand),
                            /*nontemporal=*/false, llvm::MaybeAlign(bytes));
    return;
  }
  Value first = indices[inner];
  for (int64_t lane = 0; lane < lanes; ++lane) {
    indices[inner] =
        arith::AddIOp::create(b, loc, first, makeIndex(b, loc, lane));
    Value element = vector::ExtractOp::create(b, loc, value, lane);
    memref::StoreOp::create(b, loc, element, operand.memref,
                            getIndices(operand));
  }
  indices[inner] = first;
}

/// Emits the body for `lanes` points along the inner dimension; `sums` replace
/// the outputs' elements, which are loaded if it is empty.
SmallVector<Value> LineCode::emitLanes(ArrayRef<Value> sums) {
  if (lanes == 1)
    return emitBody(sums);
  Block &block = op.getRegion().front();
  unsigned firstOutput = operands.size() - op.getNumDpsInits();
  IRMapping mapping;
  for (auto [number, operand] : llvm::enumerate(operands)) {
    BlockArgument argument = block.getArgument(number);
    if (number >= firstOutput && !sums.empty())
      mapping.map(argument, sums[number - firstOutput]);
    else if (!argument.use_empty())
      mapping.map(argument, loadLanes(operand));
  }
  LaneCode code(b, loc, lanes);
  return code.emit(block, mapping, [&](uint64_t dim) {
    return dim == inner ? code.countFrom(indices[dim]) : indices[dim];
  });
}

/// Computes and stores the points at the current indices.
void LineCode::emitPoints() {
  auto outputs = ArrayRef<LoopOperand>(operands).take_back(op.getNumDpsInits());
  for (auto [output, value] : llvm::enumerate(emitLanes({})))
    lanes > 1 ? storeLanes(outputs[output], value) : store(output, value);
}

/// The points from the current index on, fewer than a vector.
void LineCode::emitEndOfLine() {
  auto loop = scf::ForOp::create(b, loc, indices[inner],
                                 makeIndex(b, loc, getExtent(inner)),
                                 makeIndex(b, loc, 1));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  int64_t vector = std::exchange(lanes, 1);
  indices[inner] = loop.getInductionVar();
  emitPoints();
  lanes = vector;
}

} // namespace mp
