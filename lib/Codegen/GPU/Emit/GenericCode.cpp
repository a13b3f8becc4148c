//===- GenericCode.cpp - Structured ops for threads -----------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GenericCode.h"

#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace mp {

/// Bytes of an access to memory.
constexpr int64_t accessBytes = 16;

int64_t GenericCode::getExtent(unsigned dim) const {
  return *getConstantIntValue(dims[dim].extent);
}

int64_t GenericCode::product(ArrayRef<unsigned> list) const {
  int64_t result = 1;
  for (unsigned dim : list)
    result *= getExtent(dim);
  return result;
}

void GenericCode::analyze() {
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(op);
  read();
  mergeDims();
  indices.resize(dims.size());
  if (!dims.empty()) {
    inner = chooseInner();
    isReducedInside = dims[inner].isReduction;
    for (unsigned dim = 0; dim < dims.size(); ++dim)
      if (dim != inner)
        (dims[dim].isReduction ? reduced : outer).push_back(dim);
    (isReducedInside ? reduced : outer).push_back(inner);
  }
  if (reduced.empty())
    lanes = chooseLanes();
  else
    findCombiners();
}

void GenericCode::inspect() {
  Operation *before = op->getPrevNode();
  analyze();
  while (op->getPrevNode() != before)
    b.eraseOp(op->getPrevNode());
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

void GenericCode::findCombiners() {
  Block &block = op.getRegion().front();
  SmallVector<BlockArgument> outputs(op.getRegionOutputArgs());
  for (unsigned index = 0; index < outputs.size(); ++index) {
    SmallVector<Operation *> chain;
    bool isFound = bool(matchReduction(outputs, index, chain));
    if (!isFound || chain.size() != 1 || chain[0]->getBlock() != &block ||
        chain[0]->getNumOperands() != 2 ||
        !arith::getNeutralElement(chain[0])) {
      combiners.clear();
      return;
    }
    combiners.push_back(chain[0]);
  }
}

Value combine(OpBuilder &b, Operation *op, Value x, Value y) {
  IRMapping mapping;
  mapping.map(op->getOperand(0), x);
  mapping.map(op->getOperand(1), y);
  return b.clone(*op, mapping)->getResult(0);
}

SmallVector<Value> GenericCode::loadOutputs() {
  SmallVector<Value> values;
  auto outputs = ArrayRef<LoopOperand>(operands).take_back(op.getNumDpsInits());
  for (auto [number, output] : llvm::enumerate(outputs)) {
    Value start = starts.lookup(number);
    values.push_back(start ? start
                           : memref::LoadOp::create(b, loc, output.memref,
                                                    getIndices(output))
                                 .getResult());
  }
  return values;
}

SmallVector<Value> GenericCode::getNeutral() {
  SmallVector<Value> values;
  for (Operation *combiner : combiners)
    values.push_back(
        arith::ConstantOp::create(b, loc, *arith::getNeutralElement(combiner)));
  return values;
}

SmallVector<Value> GenericCode::reduce(ArrayRef<unsigned> list,
                                       ArrayRef<Value> sums) {
  if (list.empty())
    return emitBody(sums);
  return emitSequence(b, loc, getExtent(list.front()), sums,
                      [&](Value i, ArrayRef<Value> inner) {
                        indices[list.front()] = i;
                        return reduce(list.drop_front(), inner);
                      });
}

void GenericCode::emitSerial(const Threads &threads) {
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(op);
  threads.forEach(b, loc, countOutputs(), [&](Value linear) {
    setIndices(linear, outer);
    for (auto [output, value] : llvm::enumerate(reduce(reduced, loadOutputs())))
      store(output, value);
  });
}

void GenericCode::emitTogether(const Threads &threads, SharedMemory &shared,
                               Value number) {
  if (!canCombine())
    return emitSelection(threads, shared, number);
  setIndices(number, outer);
  SmallVector<Value> partials = reduceFrom(threads.id, threads.count);
  SmallVector<Value> totals;
  for (auto [value, combiner] : llvm::zip(partials, combiners)) {
    Operation *own = combiner;
    totals.push_back(reduceBlock(b, loc, shared, threads, value,
                                 [&](OpBuilder &at, Value x, Value y) {
                                   return combine(at, own, x, y);
                                 }));
  }
  threads.byFirst(b, loc, [&] {
    SmallVector<Value> before = loadOutputs();
    for (auto [output, total] : llvm::enumerate(totals))
      store(output, combine(b, combiners[output], before[output], total));
  });
}

/// Reduces the points from `first` on, `step` apart.
SmallVector<Value> GenericCode::reduceFrom(Value first, int64_t step) {
  auto loop =
      scf::ForOp::create(b, loc, first, makeIndex(b, loc, countReduced()),
                         makeIndex(b, loc, step), getNeutral());
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  setIndices(loop.getInductionVar(), reduced);
  SmallVector<Value> inner(loop.getRegionIterArgs());
  scf::YieldOp::create(b, loc, emitBody(inner));
  return SmallVector<Value>(loop.getResults());
}

void GenericCode::emitColumns(const Threads &threads, SharedMemory &shared,
                              Value tile) {
  int64_t outputs = countOutputs(), shares = threads.count / warpSize;
  Value width = makeIndex(b, loc, warpSize);
  Value lane = arith::RemUIOp::create(b, loc, threads.id, width);
  Value share = arith::DivUIOp::create(b, loc, threads.id, width);
  Value output = arith::AddIOp::create(
      b, loc, arith::MulIOp::create(b, loc, tile, width), lane);
  // Lanes after the last output reduce it as well, but do not store it.
  Value last = makeIndex(b, loc, outputs - 1);
  setIndices(arith::MinUIOp::create(b, loc, output, last), outer);
  SmallVector<Value> memories;
  for (Value partial : reduceFrom(share, shares)) {
    auto type = MemRefType::get({threads.count}, partial.getType());
    memories.push_back(shared.make(b, loc, type));
    memref::StoreOp::create(b, loc, partial, memories.back(), threads.id);
  }
  gpu::BarrierOp::create(b, loc);
  // The threads of the first warp that have an output.
  Value end = makeIndex(b, loc, warpSize);
  if (outputs % warpSize != 0) {
    Value rest =
        arith::SubIOp::create(b, loc, makeIndex(b, loc, outputs),
                              arith::MulIOp::create(b, loc, tile, width));
    end = arith::MinUIOp::create(b, loc, rest, end);
  }
  Value isOwner =
      arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, threads.id, end);
  auto branch = scf::IfOp::create(b, loc, isOwner);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  SmallVector<Value> totals = loadOutputs();
  for (int64_t number = 0; number < shares; ++number) {
    Value place = arith::AddIOp::create(b, loc, lane,
                                        makeIndex(b, loc, number * warpSize));
    for (auto [index, memory] : llvm::enumerate(memories))
      totals[index] =
          combine(b, combiners[index], totals[index],
                  memref::LoadOp::create(b, loc, memory, place).getResult());
  }
  for (auto [index, total] : llvm::enumerate(totals))
    store(index, total);
}

//===----------------------------------------------------------------------===//
// Maps
//===----------------------------------------------------------------------===//

void GenericCode::setIndices(Value linear, ArrayRef<unsigned> list,
                             int64_t divisor) {
  SmallVector<int64_t> extents;
  for (unsigned dim : list)
    extents.push_back(getExtent(dim));
  if (!extents.empty())
    extents.back() /= divisor;
  SmallVector<Value> found = delinearize(b, loc, linear, extents);
  for (auto [dim, index] : llvm::zip(list, found))
    indices[dim] = index;
  if (divisor > 1)
    indices[list.back()] = arith::MulIOp::create(b, loc, indices[list.back()],
                                                 makeIndex(b, loc, divisor));
}

/// True if neighbours along the inner dimension are neighbours in memory.
bool GenericCode::isLine(const LoopOperand &operand) const {
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
bool GenericCode::isAligned(const LoopOperand &operand, int64_t width) const {
  auto type = cast<MemRefType>(operand.memref.getType());
  auto [strides, offset] = type.getStridesAndOffset();
  auto isMultiple = [&](int64_t value) {
    return !ShapedType::isDynamic(value) && value % width == 0;
  };
  return isMultiple(offset) &&
         llvm::all_of(ArrayRef<int64_t>(strides).drop_back(), isMultiple);
}

static bool isLaneWise(Operation &op) {
  return OpTrait::hasElementwiseMappableTraits(&op) && isPure(&op) &&
         op.getNumRegions() == 0 &&
         llvm::all_of(op.getResultTypes(),
                      [](Type type) { return type.isIntOrIndexOrFloat(); });
}

int64_t GenericCode::chooseLanes() {
  Block &block = op.getRegion().front();
  if (usesIndex || dims.empty() ||
      !llvm::all_of(block.without_terminator(), [](Operation &inner) {
        return isLaneWise(inner) || isa<arith::ConstantOp>(inner);
      }))
    return 1;
  int64_t width = accessBytes;
  bool hasLine = false;
  for (const LoopOperand &operand : operands) {
    auto type = dyn_cast<MemRefType>(operand.memref.getType());
    if (!type || !type.getElementType().isIntOrFloat())
      continue;
    int64_t bytes = (type.getElementTypeBitWidth() + 7) / 8;
    if (!isLine(operand))
      continue;
    hasLine = true;
    width = std::min(width, accessBytes / bytes);
    while (width > 1 && !isAligned(operand, width))
      width /= 2;
  }
  if (!hasLine)
    return 1;
  // A vector must be within a line.
  while (getExtent(inner) % width != 0)
    width /= 2;
  return width;
}

Value GenericCode::loadLanes(const LoopOperand &operand) {
  Type element = getElementTypeOrSelf(operand.memref.getType());
  auto vector = VectorType::get({lanes}, element);
  auto broadcast = [&](Value value) {
    return vector::BroadcastOp::create(b, loc, vector, value).getResult();
  };
  if (!isa<MemRefType>(operand.memref.getType()))
    return broadcast(operand.memref);
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
    return broadcast(load());
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

void GenericCode::storeLanes(const LoopOperand &operand, Value value) {
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

/// Emits the body for `lanes` points along the inner dimension.
void GenericCode::emitVector() {
  Block &block = op.getRegion().front();
  IRMapping mapping;
  for (auto [argument, operand] : llvm::zip(block.getArguments(), operands))
    if (!argument.use_empty())
      mapping.map(argument, loadLanes(operand));
  auto getLanesOf = [&](Value value) {
    Value mapped = mapping.lookupOrDefault(value);
    if (isa<VectorType>(mapped.getType()))
      return mapped;
    auto type = VectorType::get({lanes}, mapped.getType());
    mapped = vector::BroadcastOp::create(b, loc, type, mapped);
    mapping.map(value, mapped);
    return mapped;
  };
  for (Operation &inside : block.without_terminator()) {
    if (isa<arith::ConstantOp>(inside)) {
      b.clone(inside, mapping);
      continue;
    }
    SmallVector<Value> values;
    for (Value operand : inside.getOperands())
      values.push_back(getLanesOf(operand));
    SmallVector<Type> types;
    for (Type type : inside.getResultTypes())
      types.push_back(VectorType::get({lanes}, type));
    OperationState state(inside.getLoc(), inside.getName(), values, types,
                         inside.getAttrs());
    Operation *made = b.create(state);
    mapping.map(inside.getResults(), made->getResults());
  }
  auto outputs = ArrayRef<LoopOperand>(operands).take_back(op.getNumDpsInits());
  SmallVector<Value> results;
  for (Value value : block.getTerminator()->getOperands())
    results.push_back(getLanesOf(value));
  for (auto [output, value] : llvm::zip(outputs, results))
    storeLanes(output, value);
}

void GenericCode::emitMap(const Threads &threads) {
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(op);
  threads.forEach(b, loc, countTasks(), [&](Value linear) {
    setIndices(linear, outer, lanes);
    if (lanes > 1)
      return emitVector();
    for (auto [output, value] : llvm::enumerate(emitBody({})))
      store(output, value);
  });
}

} // namespace mp
