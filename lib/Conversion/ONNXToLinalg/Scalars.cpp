//===- Scalars.cpp - Arithmetic on elements -------------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Scalars.h"

using namespace mlir;

namespace mp {

Type getStorageType(Type element) {
  if (element.isInteger(1))
    return IntegerType::get(element.getContext(), 8);
  if (auto type = dyn_cast<IntegerType>(element)) {
    unsigned width = type.getWidth();
    // Narrower integers take a byte each in computations.
    if (width == 2 || width == 4)
      width = 8;
    if (width != 8 && width != 16 && width != 32 && width != 64)
      return {};
    return IntegerType::get(element.getContext(), width);
  }
  if (element.isF16() || element.isBF16() || element.isF32() || element.isF64())
    return element;
  return {};
}

Type getComputeType(Type element) {
  if (element.isInteger(1))
    return element;
  if (element.isF16() || element.isBF16())
    return Float32Type::get(element.getContext());
  return getStorageType(element);
}

Value Scalars::constant(Type type, double value) {
  if (auto integer = dyn_cast<IntegerType>(type))
    return this->integer(type, static_cast<int64_t>(value));
  return arith::ConstantOp::create(b, loc, b.getFloatAttr(type, value));
}

Value Scalars::integer(Type type, int64_t value) {
  return arith::ConstantOp::create(b, loc, b.getIntegerAttr(type, value));
}

Value Scalars::index(int64_t value) {
  return arith::ConstantIndexOp::create(b, loc, value);
}

Value Scalars::add(Value x, Value y) {
  if (isFloat(x))
    return arith::AddFOp::create(b, loc, x, y);
  return arith::AddIOp::create(b, loc, x, y);
}

Value Scalars::sub(Value x, Value y) {
  if (isFloat(x))
    return arith::SubFOp::create(b, loc, x, y);
  return arith::SubIOp::create(b, loc, x, y);
}

Value Scalars::mul(Value x, Value y) {
  if (isFloat(x))
    return arith::MulFOp::create(b, loc, x, y);
  return arith::MulIOp::create(b, loc, x, y);
}

/// Replaces divisors that trap: 0 becomes 1; -1 for the least number becomes 1,
/// which gives the same bits.
static Value guardDivisor(Scalars &s, Value x, Value y, bool isUnsigned) {
  Type type = x.getType();
  Value zero = s.integer(type, 0), one = s.integer(type, 1);
  Value bad = s.compare(Scalars::EQ, y, zero);
  if (!isUnsigned) {
    Value least = s.integer(type, llvm::minIntN(type.getIntOrFloatBitWidth()));
    Value overflows =
        arith::AndIOp::create(s.b, s.loc, s.compare(Scalars::EQ, x, least),
                              s.compare(Scalars::EQ, y, s.integer(type, -1)));
    bad = arith::OrIOp::create(s.b, s.loc, bad, overflows);
  }
  return s.select(bad, one, y);
}

Value Scalars::div(Value x, Value y, bool isUnsigned) {
  if (isFloat(x))
    return arith::DivFOp::create(b, loc, x, y);
  y = guardDivisor(*this, x, y, isUnsigned);
  if (isUnsigned)
    return arith::DivUIOp::create(b, loc, x, y);
  return arith::DivSIOp::create(b, loc, x, y);
}

Value Scalars::rem(Value x, Value y, bool isUnsigned) {
  if (isFloat(x))
    return arith::RemFOp::create(b, loc, x, y);
  y = guardDivisor(*this, x, y, isUnsigned);
  if (isUnsigned)
    return arith::RemUIOp::create(b, loc, x, y);
  return arith::RemSIOp::create(b, loc, x, y);
}

Value Scalars::neg(Value x) {
  if (isFloat(x))
    return arith::NegFOp::create(b, loc, x);
  return sub(integer(x.getType(), 0), x);
}

Value Scalars::min(Value x, Value y, bool isUnsigned) {
  if (isFloat(x))
    return arith::MinimumFOp::create(b, loc, x, y);
  if (isUnsigned || x.getType().isInteger(1))
    return arith::MinUIOp::create(b, loc, x, y);
  return arith::MinSIOp::create(b, loc, x, y);
}

Value Scalars::max(Value x, Value y, bool isUnsigned) {
  if (isFloat(x))
    return arith::MaximumFOp::create(b, loc, x, y);
  if (isUnsigned || x.getType().isInteger(1))
    return arith::MaxUIOp::create(b, loc, x, y);
  return arith::MaxSIOp::create(b, loc, x, y);
}

Value Scalars::compare(Order order, Value x, Value y, bool isUnsigned) {
  using F = arith::CmpFPredicate;
  using I = arith::CmpIPredicate;
  static constexpr F floats[] = {F::OEQ, F::UNE, F::OLT,
                                 F::OLE, F::OGT, F::OGE};
  static constexpr I ints[] = {I::eq, I::ne, I::slt, I::sle, I::sgt, I::sge};
  static constexpr I naturals[] = {I::eq,  I::ne,  I::ult,
                                   I::ule, I::ugt, I::uge};
  if (isFloat(x))
    return arith::CmpFOp::create(b, loc, floats[order], x, y);
  return arith::CmpIOp::create(b, loc, (isUnsigned ? naturals : ints)[order], x,
                               y);
}

Value Scalars::logicalNot(Value x) {
  return arith::XOrIOp::create(b, loc, x, integer(x.getType(), 1));
}

Value Scalars::exp(Value x) { return math<math::ExpOp>(x); }

Value Scalars::log(Value x) {
  if (!x.getType().isF32())
    return math<math::LogOp>(x);
  // math.log treats subnormals as the least normal number; scale them first.
  Value isLow = compare(LT, x, like(x, 1.17549435082228750797e-38));
  Value safe = select(isLow, mul(x, like(x, 4294967296.0)), x);
  Value shift = select(isLow, like(x, 22.18070977791824990137), like(x, 0));
  return sub(math<math::LogOp>(safe), shift);
}

Value Scalars::sigmoid(Value x) {
  // The argument of exp is at most 0: the result is 1 / (1 + e) for x >= 0, e /
  // (1 + e) otherwise.
  Value e = exp(neg(abs(x)));
  Value one = like(x, 1);
  Value positive = compare(GE, x, like(x, 0));
  return div(select(positive, one, e), add(one, e));
}

Value Scalars::abs(Value x) {
  if (isFloat(x))
    return math::AbsFOp::create(b, loc, x);
  return math::AbsIOp::create(b, loc, x);
}

static Value convertToInteger(Scalars &s, Value x, bool toUnsigned, Type type) {
  // Values out of range, which are undefined in C++, saturate in 64 bits.
  // Narrower integers keep the low bits of that, like on x86.
  Type wide = s.b.getI64Type();
  bool isWide = toUnsigned && type.isInteger(64);
  Value low = s.like(x, isWide ? 0 : -9223372036854775808.0);
  Value high =
      s.like(x, isWide ? 18446744073709551616.0 : 9223372036854775808.0);
  Value isHigh = s.compare(Scalars::GE, x, high);
  Value isLow = s.compare(Scalars::LT, x, low);
  Value isNaN = s.compare(Scalars::NE, x, x);
  Value zero = s.like(x, 0);
  Value safe = s.select(isNaN, zero, s.select(isHigh, zero, x));
  safe = s.select(isLow, low, safe);
  Value result;
  if (isWide)
    result = arith::FPToUIOp::create(s.b, s.loc, wide, safe);
  else
    result = arith::FPToSIOp::create(s.b, s.loc, wide, safe);
  if (!type.isInteger(64))
    return arith::TruncIOp::create(s.b, s.loc, type, result);
  Value most = s.integer(type, isWide ? -1 : llvm::maxIntN(64));
  return s.select(isHigh, most, result);
}

/// The value that the lowest bits of `x` have in the narrower type `to`; the
/// result has the type of `x`.
static Value wrap(Scalars &s, Value x, Type to) {
  unsigned have = x.getType().getIntOrFloatBitWidth();
  Value shift = s.integer(x.getType(), have - cast<IntegerType>(to).getWidth());
  Value high = arith::ShLIOp::create(s.b, s.loc, x, shift);
  if (to.isUnsignedInteger())
    return arith::ShRUIOp::create(s.b, s.loc, high, shift);
  return arith::ShRSIOp::create(s.b, s.loc, high, shift);
}

Value Scalars::convert(Value x, Type from, Type to) {
  auto integer = dyn_cast<IntegerType>(to);
  bool isNarrow = integer && integer.getWidth() > 1 && integer.getWidth() < 8;
  if (!isNarrow || from == to)
    return convertWhole(x, from, to);
  Type whole = IntegerType::get(to.getContext(), 8, integer.getSignedness());
  return wrap(*this, convertWhole(x, from, whole), to);
}

Value Scalars::convertWhole(Value x, Type from, Type to) {
  Type source = x.getType(), target = getComputeType(to);
  bool fromFloat = isa<FloatType>(source), toFloat = isa<FloatType>(target);
  bool fromUnsigned = from.isUnsignedInteger() || from.isInteger(1);
  if (to.isInteger(1))
    return compare(NE, x, constant(source, 0));
  if (fromFloat && toFloat) {
    unsigned have = source.getIntOrFloatBitWidth();
    unsigned want = target.getIntOrFloatBitWidth();
    if (have < want)
      return arith::ExtFOp::create(b, loc, target, x);
    // Round only once from f64 to 16 bits.
    if (have > want && to != target)
      return arith::ExtFOp::create(
          b, loc, target, arith::TruncFOp::create(b, loc, to, x).getResult());
    return have > want ? arith::TruncFOp::create(b, loc, target, x).getResult()
                       : x;
  }
  if (fromFloat)
    return convertToInteger(*this, x, to.isUnsignedInteger(), target);
  if (toFloat && fromUnsigned)
    return arith::UIToFPOp::create(b, loc, target, x);
  if (toFloat)
    return arith::SIToFPOp::create(b, loc, target, x);
  unsigned have = source.getIntOrFloatBitWidth();
  unsigned want = target.getIntOrFloatBitWidth();
  if (have > want)
    return arith::TruncIOp::create(b, loc, target, x);
  if (have == want)
    return x;
  if (fromUnsigned)
    return arith::ExtUIOp::create(b, loc, target, x);
  return arith::ExtSIOp::create(b, loc, target, x);
}

Value Scalars::widen(Value x, Type element) {
  if (element.isInteger(1))
    return compare(NE, x, integer(x.getType(), 0));
  Type type = getComputeType(element);
  return type == x.getType() ? x : arith::ExtFOp::create(b, loc, type, x);
}

Value Scalars::narrow(Value x, Type element) {
  Type type = getStorageType(element);
  if (element.isInteger(1))
    return arith::ExtUIOp::create(b, loc, type, x);
  return type == x.getType() ? x : arith::TruncFOp::create(b, loc, type, x);
}

Value Scalars::toIndex(Value x) {
  return arith::IndexCastOp::create(b, loc, b.getIndexType(), x);
}

Value Scalars::fromIndex(Value x, Type type) {
  if (isa<IntegerType>(type))
    return arith::IndexCastOp::create(b, loc, type, x);
  Value wide = arith::IndexCastOp::create(b, loc, b.getI64Type(), x);
  return arith::SIToFPOp::create(b, loc, type, wide);
}

} // namespace mp
