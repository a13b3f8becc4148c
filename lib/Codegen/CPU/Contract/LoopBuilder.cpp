//===- LoopBuilder.cpp - Builders of index arithmetic and loops -----------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LoopBuilder.h"

#include "mp-opt/Dialect/Runtime/RuntimeOps.h"

#include "mp-opt/Dialect/Kernel/Kernel.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;

namespace mp::kernel {

Value LoopBuilder::index(int64_t value) {
  return arith::ConstantIndexOp::create(*this, value);
}
Value LoopBuilder::i32(int64_t value) {
  return arith::ConstantOp::create(*this, getI32IntegerAttr(value));
}
Value LoopBuilder::add(Value a, Value b) {
  return createOrFold<arith::AddIOp>(a, b);
}
Value LoopBuilder::sub(Value a, Value b) {
  return createOrFold<arith::SubIOp>(a, b);
}
Value LoopBuilder::mul(Value a, Value b) {
  return createOrFold<arith::MulIOp>(a, b);
}
Value LoopBuilder::min(Value a, Value b) {
  return createOrFold<arith::MinSIOp>(a, b);
}
Value LoopBuilder::max(Value a, Value b) {
  return createOrFold<arith::MaxSIOp>(a, b);
}
Value LoopBuilder::div(Value a, Value b) {
  return createOrFold<arith::DivUIOp>(a, b);
}
Value LoopBuilder::rem(Value a, Value b) {
  return createOrFold<arith::RemUIOp>(a, b);
}
Value LoopBuilder::ceilDiv(Value a, Value b) {
  return div(add(a, sub(b, index(1))), b);
}
Value LoopBuilder::less(Value a, Value b) {
  return createOrFold<arith::CmpIOp>(arith::CmpIPredicate::slt, a, b);
}
Value LoopBuilder::equal(Value a, Value b) {
  return createOrFold<arith::CmpIOp>(arith::CmpIPredicate::eq, a, b);
}
Value LoopBuilder::toI32(Value value) {
  return createOrFold<arith::IndexCastOp>(getI32Type(), value);
}

void LoopBuilder::loop(Value begin, Value end, int64_t step, Body body) {
  auto op = scf::ForOp::create(*this, begin, end, index(step));
  OpBuilder::InsertionGuard guard(*this);
  setInsertionPointToStart(op.getBody());
  body(op.getInductionVar());
}

void LoopBuilder::keepRolled(scf::ForOp loop) {
  auto unroll = LLVM::LoopUnrollAttr::get(getContext(), getBoolAttr(true), {},
                                          {}, {}, {}, {}, {});
  // The attribute has this name after loops have become branches.
  loop->setAttr("loop_annotation", LLVM::LoopAnnotationAttr::get(
                                       getContext(), {}, {}, {}, unroll, {}, {},
                                       {}, {}, {}, {}, {}, {}, {}, {}, {}));
}

void LoopBuilder::parallel(Value count, Body body) {
  auto op = scf::ParallelOp::create(*this, ValueRange{index(0)},
                                    ValueRange{count}, ValueRange{index(1)});
  OpBuilder::InsertionGuard guard(*this);
  setInsertionPointToStart(op.getBody());
  body(op.getInductionVars().front());
}

void LoopBuilder::ifThen(Value condition, llvm::function_ref<void()> body) {
  auto op = scf::IfOp::create(*this, condition, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(*this);
  setInsertionPointToStart(op.thenBlock());
  body();
}

void LoopBuilder::ifElse(Value condition, llvm::function_ref<void()> yes,
                         llvm::function_ref<void()> no) {
  auto op = scf::IfOp::create(*this, condition, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(*this);
  setInsertionPointToStart(op.thenBlock());
  yes();
  setInsertionPointToStart(op.elseBlock());
  no();
}

Value LoopBuilder::choose(Value condition, Type type,
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

VectorType LoopBuilder::vectorType(Type element, int64_t lanes) {
  return VectorType::get({lanes}, element);
}

Value LoopBuilder::splat(Value scalar, int64_t lanes) {
  return vector::BroadcastOp::create(*this, vectorType(scalar.getType(), lanes),
                                     scalar);
}

Value LoopBuilder::zeros(Type element, int64_t lanes) {
  return arith::ConstantOp::create(*this,
                                   getZeroAttr(vectorType(element, lanes)));
}

Value LoopBuilder::iota(Type type, int64_t lanes) {
  SmallVector<Attribute> values;
  for (int64_t i = 0; i < lanes; ++i)
    values.push_back(getIntegerAttr(type, i));
  return arith::ConstantOp::create(
      *this, DenseElementsAttr::get(vectorType(type, lanes), values));
}

Value LoopBuilder::firstLanes(Value count, int64_t lanes) {
  return vector::CreateMaskOp::create(*this, vectorType(getI1Type(), lanes),
                                      ValueRange{count});
}

Value LoopBuilder::lanesBetween(Value begin, Value end, int64_t lanes) {
  return arith::XOrIOp::create(*this, firstLanes(begin, lanes),
                               firstLanes(end, lanes));
}

Value LoopBuilder::castFloat(Value value, Type element) {
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

Value LoopBuilder::allocate(Value count, Type element) {
  auto type = MemRefType::get({ShapedType::kDynamic}, element);
  return memref::AllocOp::create(*this, type, ValueRange{count},
                                 getI64IntegerAttr(64));
}

Value LoopBuilder::scratch(int buffer, Value count, Type element) {
  int64_t bytes = element.getIntOrFloatBitWidth() / 8;
  Value memory = runtime::ScratchOp::create(
      *this, MemRefType::get({ShapedType::kDynamic}, getI8Type()),
      mul(count, index(bytes)), getI32IntegerAttr(buffer));
  return memref::ViewOp::create(
      *this, MemRefType::get({ShapedType::kDynamic}, element), memory, index(0),
      ValueRange{count});
}

Value LoopBuilder::load(Value memref, Value at) {
  return memref::LoadOp::create(*this, memref, ValueRange{at});
}

Value LoopBuilder::gather(Value memref, Value place, Value offsets,
                          Value mask) {
  Type element = cast<MemRefType>(memref.getType()).getElementType();
  if (element.getIntOrFloatBitWidth() == 16)
    return gatherNarrow(memref, place, offsets, mask);
  int64_t lanes = cast<VectorType>(mask.getType()).getDimSize(0);
  return vector::GatherOp::create(*this, vectorType(element, lanes), memref,
                                  ValueRange{place}, offsets, mask,
                                  zeros(element, lanes));
}

/// Processors gather words, not halves of words; without this, each element
/// would be a branch of its own. The aligned word around an element is never
/// in another page.
Value LoopBuilder::gatherNarrow(Value memref, Value place, Value offsets,
                                Value mask) {
  int64_t lanes = cast<VectorType>(mask.getType()).getDimSize(0);
  Type element = cast<MemRefType>(memref.getType()).getElementType();
  auto constant = [&](int64_t value) -> Value {
    auto type = vectorType(getI64Type(), lanes);
    return arith::ConstantOp::create(
        *this, DenseElementsAttr::get(type, getI64IntegerAttr(value)));
  };
  auto metadata = memref::ExtractStridedMetadataOp::create(*this, memref);
  Value start = memref::ExtractAlignedPointerAsIndexOp::create(*this, memref);
  start = add(start, mul(add(metadata.getOffset(), place), 2));
  Value address =
      add(splat(start, lanes), mul(offsets, splat(index(2), lanes)));
  address = arith::IndexCastOp::create(*this, vectorType(getI64Type(), lanes),
                                       address);
  Value shift =
      mul(arith::AndIOp::create(*this, address, constant(2)), constant(8));
  Value word = arith::AndIOp::create(*this, address, constant(-4));
  Type pointers =
      VectorType::get({lanes}, LLVM::LLVMPointerType::get(getContext()));
  Value words = LLVM::masked_gather::create(
      *this, vectorType(getI32Type(), lanes),
      LLVM::IntToPtrOp::create(*this, pointers, word).getResult(), mask,
      ValueRange{zeros(getI32Type(), lanes)}, 4u);
  shift = arith::TruncIOp::create(*this, words.getType(), shift);
  words = arith::ShRUIOp::create(*this, words, shift);
  Value halves =
      arith::TruncIOp::create(*this, vectorType(getI16Type(), lanes), words);
  return arith::BitcastOp::create(*this, vectorType(element, lanes), halves);
}

void LoopBuilder::prefetch(Value memref, Value at, bool write) {
  memref::PrefetchOp::create(*this, memref, ValueRange{at}, write,
                             /*localityHint=*/write ? 3 : 2,
                             /*isDataCache=*/true);
}

} // namespace mp::kernel
