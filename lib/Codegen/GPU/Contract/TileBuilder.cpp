//===- TileBuilder.cpp - Builders of a kernel's arithmetic ----------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TileBuilder.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;

namespace mp::kernel::tiling {

Value TileBuilder::index(int64_t value) {
  return arith::ConstantOp::create(*this, getIntegerAttr(word, value));
}
Value TileBuilder::fromIndex(Value value) {
  return createOrFold<arith::IndexCastOp>(word, value);
}
Value TileBuilder::toIndex(Value value) {
  return createOrFold<arith::IndexCastOp>(getIndexType(), value);
}
Value TileBuilder::add(Value a, Value b) {
  return createOrFold<arith::AddIOp>(a, b);
}
Value TileBuilder::sub(Value a, Value b) {
  return createOrFold<arith::SubIOp>(a, b);
}
Value TileBuilder::mul(Value a, int64_t b) {
  return createOrFold<arith::MulIOp>(a, index(b));
}
Value TileBuilder::div(Value a, int64_t b) {
  return createOrFold<arith::DivUIOp>(a, index(b));
}
Value TileBuilder::rem(Value a, int64_t b) {
  if (b == 1)
    return index(0);
  return createOrFold<arith::RemUIOp>(a, index(b));
}
Value TileBuilder::exclusiveOr(Value a, Value b) {
  return createOrFold<arith::XOrIOp>(a, b);
}
Value TileBuilder::isWithin(Value a, Value b) {
  return createOrFold<arith::CmpIOp>(arith::CmpIPredicate::ult, a, b);
}
Value TileBuilder::both(Value a, Value b) {
  if (!a || !b)
    return a ? a : b;
  return createOrFold<arith::AndIOp>(a, b);
}
Value TileBuilder::select(Value condition, Value yes, Value no) {
  return condition ? createOrFold<arith::SelectOp>(condition, yes, no) : yes;
}
Value TileBuilder::zero(Type type) {
  return arith::ConstantOp::create(*this, getZeroAttr(type));
}

void TileBuilder::ifThen(Value condition, function_ref<void()> body) {
  if (!condition)
    return body();
  auto op = scf::IfOp::create(*this, condition, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(*this);
  setInsertionPointToStart(op.thenBlock());
  body();
}

SmallVector<Value>
TileBuilder::ifElseZero(Value condition, TypeRange types,
                        function_ref<SmallVector<Value>()> body) {
  if (!condition || types.empty()) {
    SmallVector<Value> values;
    ifThen(condition, [&] { values = body(); });
    return values;
  }
  auto op = scf::IfOp::create(*this, types, condition, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(*this);
  setInsertionPointToStart(op.thenBlock());
  scf::YieldOp::create(*this, body());
  setInsertionPointToStart(op.elseBlock());
  SmallVector<Value> zeros;
  for (Type type : types)
    zeros.push_back(zero(type));
  scf::YieldOp::create(*this, zeros);
  return op.getResults();
}

SmallVector<Value> TileBuilder::loop(Value begin, Value end, int64_t step,
                                     ValueRange carried, LoopBody body) {
  auto op = scf::ForOp::create(*this, begin, end, index(step), carried);
  OpBuilder::InsertionGuard guard(*this);
  setInsertionPointToStart(op.getBody());
  SmallVector<Value> next = body(op.getInductionVar(), op.getRegionIterArgs());
  // With nothing carried, the body has its terminator already.
  if (!carried.empty())
    scf::YieldOp::create(*this, next);
  return op.getResults();
}

/// The alignment of a whole vector: vectors of `width` elements begin at a
/// multiple of it.
static llvm::Align getAlignment(VectorType type) {
  return llvm::Align(type.getNumElements() * type.getElementTypeBitWidth() / 8);
}

Value TileBuilder::load(Value memory, Value at, int64_t width) {
  at = toIndex(at);
  if (width == 1)
    return memref::LoadOp::create(*this, memory, ValueRange{at});
  Type element = getElementTypeOrSelf(memory.getType());
  auto type = VectorType::get({width}, element);
  return vector::LoadOp::create(*this, type, memory, ValueRange{at},
                                /*nontemporal=*/false, getAlignment(type));
}

void TileBuilder::store(Value value, Value memory, Value at) {
  at = toIndex(at);
  if (auto type = dyn_cast<VectorType>(value.getType()))
    vector::StoreOp::create(*this, value, memory, ValueRange{at},
                            /*nontemporal=*/false, getAlignment(type));
  else
    memref::StoreOp::create(*this, value, memory, ValueRange{at});
}

SmallVector<Value> TileBuilder::getElements(Value value) {
  auto type = dyn_cast<VectorType>(value.getType());
  if (!type)
    return {value};
  return vector::ToElementsOp::create(*this, value).getElements();
}

Value TileBuilder::fromElements(ArrayRef<Value> elements) {
  if (elements.size() == 1)
    return elements.front();
  auto type =
      VectorType::get({int64_t(elements.size())}, elements.front().getType());
  return vector::FromElementsOp::create(*this, type, elements);
}

Value TileBuilder::castFloat(Value value, Type element) {
  Type from = getElementTypeOrSelf(value.getType());
  if (from == element)
    return value;
  Type type = element;
  if (auto vector = dyn_cast<VectorType>(value.getType()))
    type = vector.clone(element);
  unsigned fromBits = from.getIntOrFloatBitWidth();
  unsigned toBits = element.getIntOrFloatBitWidth();
  if (fromBits == toBits)
    return castFloat(castFloat(value, getF32Type()), element);
  if (fromBits < toBits)
    return arith::ExtFOp::create(*this, type, value);
  return arith::TruncFOp::create(*this, type, value);
}

/// Clones what `value`, a result or argument of the body, depends on.
static Value cloneSlice(TileBuilder &e, Value value, IRMapping &mapping,
                        Block &body,
                        llvm::function_ref<Value(unsigned)> getArgument) {
  if (Value known = mapping.lookupOrNull(value))
    return known;
  if (auto argument = dyn_cast<BlockArgument>(value);
      argument && argument.getOwner() == &body) {
    mapping.map(value, getArgument(argument.getArgNumber()));
    return mapping.lookup(value);
  }
  Operation *op = value.getDefiningOp();
  bool isOutside = !op || op->getBlock() != &body;
  if (isOutside && !(op && matchPattern(op, m_Constant())))
    return value;
  if (!isOutside)
    for (Value operand : op->getOperands())
      mapping.map(operand, cloneSlice(e, operand, mapping, body, getArgument));
  e.clone(*op, mapping);
  return mapping.lookup(value);
}

Value applyBody(TileBuilder &e, Block &body, unsigned result,
                llvm::function_ref<Value(unsigned)> getArgument,
                IRMapping known) {
  Value yielded = body.getTerminator()->getOperand(result);
  return cloneSlice(e, yielded, known, body, getArgument);
}

Value TileBuilder::fma(Value a, Value b, Value c) {
  return LLVM::FMAOp::create(*this, a, b, c);
}

} // namespace mp::kernel::tiling
