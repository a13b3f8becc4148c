//===- Exponential.cpp - e to the power of x ------------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// e^x = 2^n * e^r, where n is x / ln 2, rounded, and r is at most ln 2 / 2. A
// polynomial, whose coefficients minimize the largest error, computes e^r. 2^n
// is made of bits, in two factors, since n exceeds the exponents of normal
// numbers on both sides. AVX-512 multiplies by 2^n in one instruction, with the
// same bits.
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Codegen/Common/Exponential.h"

#include "mp-opt/Codegen/Common/FloatBuilder.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;

namespace mp {

namespace {
struct ExpandExp : public FunctionPattern<math::ExpOp> {
  ExpandExp(MLIRContext *context, PatternBenefit benefit, bool isAVX512)
      : FunctionPattern(context, benefit), isAVX512(isAVX512) {}
  Value compute(const FloatBuilder &f, Value x) const override;

  bool isAVX512;
};
} // namespace

/// A number that is added to this is rounded to an integer, which is in the
/// last bits.
constexpr double rounding = 12582912;
constexpr int32_t roundingBits = 0x4B400000;

/// A constant of 32-bit integers in the shape of the floats.
static Value makeInteger(const FloatBuilder &f, int32_t number) {
  TypedAttr value = f.b.getI32IntegerAttr(number);
  if (auto vector = dyn_cast<VectorType>(f.type))
    value = DenseElementsAttr::get(vector.clone(f.b.getI32Type()), value);
  return arith::ConstantOp::create(f.b, f.loc, value);
}

/// 2^n, if n is an exponent of normal numbers.
static Value makePower(const FloatBuilder &f, Value n) {
  Value biased = arith::AddIOp::create(f.b, f.loc, n, makeInteger(f, 127));
  Value bits = arith::ShLIOp::create(f.b, f.loc, biased, makeInteger(f, 23));
  return arith::BitcastOp::create(f.b, f.loc, f.type, bits);
}

/// x * 2^n by bits of `shifted`, the sum of n and the constant that rounds to
/// integers.
static Value scaleByBits(const FloatBuilder &f, Value x, Value shifted) {
  Type integers = withElement(f.type, f.b.getI32Type());
  Value n = arith::BitcastOp::create(f.b, f.loc, integers, shifted);
  n = arith::SubIOp::create(f.b, f.loc, n, makeInteger(f, roundingBits));
  Value half = arith::ShRSIOp::create(f.b, f.loc, n, makeInteger(f, 1));
  Value other = arith::SubIOp::create(f.b, f.loc, n, half);
  return f.multiply(f.multiply(x, makePower(f, half)), makePower(f, other));
}

/// x * 2^n of 16 lanes.
static Value scaleByAVX512(const FloatBuilder &f, Value x, Value n) {
  auto number = [&](IntegerAttr value) -> Value {
    return LLVM::ConstantOp::create(f.b, f.loc, value.getType(), value);
  };
  constexpr int32_t currentDirection = 4;
  return LLVM::CallIntrinsicOp::create(
             f.b, f.loc, f.type,
             f.b.getStringAttr("llvm.x86.avx512.mask.scalef.ps.512"),
             ValueRange{x, n, x, number(f.b.getI16IntegerAttr(-1)),
                        number(f.b.getI32IntegerAttr(currentDirection))})
      .getResult(0);
}

Value ExpandExp::compute(const FloatBuilder &f, Value x) const {
  // Results beyond these bounds are 0 or infinity. Comparisons with NaN are
  // false.
  Value low = f.constant(-104.5), high = f.constant(89.5);
  x = f.select(f.isLess(x, low), low, x);
  x = f.select(f.isLess(high, x), high, x);
  Value shifted =
      f.fma(x, f.constant(1.44269504088896340736), f.constant(rounding));
  Value n = f.subtract(shifted, f.constant(rounding));
  // ln 2 in two parts, of which the first has few digits.
  Value rest = f.fma(n, f.constant(-6.93145752e-1), x);
  rest = f.fma(n, f.constant(-1.42860677e-6), rest);
  Value power = f.polynomial(rest, {1.37805939e-3, 8.37312452e-3, 4.16695364e-2,
                                    1.66664720e-1, 4.99999851e-1, 1, 1});
  auto vector = dyn_cast<VectorType>(f.type);
  if (isAVX512 && vector && vector.getShape() == ArrayRef<int64_t>{16})
    return scaleByAVX512(f, power, n);
  return scaleByBits(f, power, shifted);
}

void populateExponentialPattern(RewritePatternSet &patterns, bool isAVX512) {
  patterns.add<ExpandExp>(patterns.getContext(), /*benefit=*/2, isAVX512);
}

} // namespace mp
