//===- Emitter.cpp - Builders of index arithmetic and loops ---------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Emitter.h"

using namespace mlir;

namespace mp::kernel {

Value Emitter::index(int64_t value) {
  return arith::ConstantIndexOp::create(*this, value);
}
Value Emitter::i32(int64_t value) {
  return arith::ConstantOp::create(*this, getI32IntegerAttr(value));
}
Value Emitter::add(Value a, Value b) {
  return createOrFold<arith::AddIOp>(a, b);
}
Value Emitter::sub(Value a, Value b) {
  return createOrFold<arith::SubIOp>(a, b);
}
Value Emitter::mul(Value a, Value b) {
  return createOrFold<arith::MulIOp>(a, b);
}
Value Emitter::min(Value a, Value b) {
  return createOrFold<arith::MinSIOp>(a, b);
}
Value Emitter::max(Value a, Value b) {
  return createOrFold<arith::MaxSIOp>(a, b);
}
Value Emitter::div(Value a, Value b) {
  return createOrFold<arith::DivUIOp>(a, b);
}
Value Emitter::rem(Value a, Value b) {
  return createOrFold<arith::RemUIOp>(a, b);
}
Value Emitter::ceilDiv(Value a, Value b) {
  return div(add(a, sub(b, index(1))), b);
}
Value Emitter::less(Value a, Value b) {
  return createOrFold<arith::CmpIOp>(arith::CmpIPredicate::slt, a, b);
}
Value Emitter::equal(Value a, Value b) {
  return createOrFold<arith::CmpIOp>(arith::CmpIPredicate::eq, a, b);
}
Value Emitter::toI32(Value value) {
  return createOrFold<arith::IndexCastOp>(getI32Type(), value);
}

void Emitter::loop(Value begin, Value end, int64_t step, Body body) {
  auto op = scf::ForOp::create(*this, begin, end, index(step));
  OpBuilder::InsertionGuard guard(*this);
  setInsertionPointToStart(op.getBody());
  body(op.getInductionVar());
}

void Emitter::parallel(Value count, Body body) {
  auto op = scf::ParallelOp::create(*this, ValueRange{index(0)},
                                    ValueRange{count}, ValueRange{index(1)});
  OpBuilder::InsertionGuard guard(*this);
  setInsertionPointToStart(op.getBody());
  body(op.getInductionVars().front());
}

void Emitter::ifThen(Value condition, llvm::function_ref<void()> body) {
  auto op = scf::IfOp::create(*this, condition, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(*this);
  setInsertionPointToStart(op.thenBlock());
  body();
}

void Emitter::ifElse(Value condition, llvm::function_ref<void()> yes,
                     llvm::function_ref<void()> no) {
  auto op = scf::IfOp::create(*this, condition, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(*this);
  setInsertionPointToStart(op.thenBlock());
  yes();
  setInsertionPointToStart(op.elseBlock());
  no();
}

Value Emitter::choose(Value condition, Type type,
                      llvm::function_ref<Value()> yes,
                      llvm::function_ref<Value()> no) {
  auto op = scf::IfOp::create(*this, TypeRange{type}, condition,
                              /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(*this);
  setInsertionPointToStart(op.thenBlock());
  scf::YieldOp::create(*this, ValueRange{yes()});
  setInsertionPointToStart(op.elseBlock());
  scf::YieldOp::create(*this, ValueRange{no()});
  return op.getResult(0);
}

VectorType Emitter::vectorType(Type element, int64_t lanes) {
  return VectorType::get({lanes}, element);
}

Value Emitter::splat(Value scalar, int64_t lanes) {
  return vector::BroadcastOp::create(*this, vectorType(scalar.getType(), lanes),
                                     scalar);
}

Value Emitter::zeros(Type element, int64_t lanes) {
  return arith::ConstantOp::create(*this,
                                   getZeroAttr(vectorType(element, lanes)));
}

Value Emitter::iota(Type type, int64_t lanes) {
  SmallVector<Attribute> values;
  for (int64_t i = 0; i < lanes; ++i)
    values.push_back(getIntegerAttr(type, i));
  return arith::ConstantOp::create(
      *this, DenseElementsAttr::get(vectorType(type, lanes), values));
}

Value Emitter::firstLanes(Value count, int64_t lanes) {
  return vector::CreateMaskOp::create(*this, vectorType(getI1Type(), lanes),
                                      ValueRange{count});
}

Value Emitter::castFloat(Value value, Type element) {
  Type type = element;
  Type from = getElementTypeOrSelf(value.getType());
  if (auto vector = dyn_cast<VectorType>(value.getType()))
    type = vector.clone(element);
  if (from == element)
    return value;
  if (from.getIntOrFloatBitWidth() < element.getIntOrFloatBitWidth())
    return arith::ExtFOp::create(*this, type, value);
  return arith::TruncFOp::create(*this, type, value);
}

Value Emitter::allocate(Value count, Type element) {
  auto type = MemRefType::get({ShapedType::kDynamic}, element);
  return memref::AllocOp::create(*this, type, ValueRange{count},
                                 getI64IntegerAttr(64));
}

Value Emitter::load(Value memref, Value at) {
  return memref::LoadOp::create(*this, memref, ValueRange{at});
}

void Emitter::prefetch(Value memref, Value at, bool write) {
  memref::PrefetchOp::create(*this, memref, ValueRange{at}, write,
                             /*localityHint=*/write ? 3 : 2,
                             /*isDataCache=*/true);
}

} // namespace mp::kernel
