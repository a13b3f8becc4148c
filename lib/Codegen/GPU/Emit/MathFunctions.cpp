//===- MathFunctions.cpp - Functions without a library --------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Codegen/GPU/Emit/MathFunctions.h"

#include "mp-opt/Codegen/Common/FloatBuilder.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/SetVector.h"

#include <cmath>

using namespace mlir;

namespace mp {

namespace {

//===----------------------------------------------------------------------===//
// Circular functions
//===----------------------------------------------------------------------===//

/// sin(x + quarters * pi / 2). Multiples of pi / 2, which are known to 106
/// bits, are subtracted from the argument in f64; polynomials (of the Cephes
/// library) compute the eighth of a circle that is left.
Value computeSine(const FloatBuilder &f, Value x, int quarters) {
  FloatBuilder wide{f.b, f.loc, withElement(f.type, f.b.getF64Type())};
  Value argument = arith::ExtFOp::create(f.b, f.loc, wide.type, x);
  Value turns = wide.multiply(argument, wide.constant(0.63661977236758134308));
  turns = math::RoundEvenOp::create(f.b, f.loc, turns);
  Value back = wide.negate(turns);
  Value rest = wide.fma(back, wide.constant(1.57079632679489655800), argument);
  rest = wide.fma(back, wide.constant(6.12323399573676603587e-17), rest);
  // The result is the sine of some other angle if turns are not exact any more.
  Value most = wide.constant(1.2);
  rest = arith::MinNumFOp::create(f.b, f.loc, rest, most);
  rest = arith::MaxNumFOp::create(f.b, f.loc, rest, wide.negate(most));
  Value r = arith::TruncFOp::create(f.b, f.loc, f.type, rest);
  Value square = f.multiply(r, r);
  Value sine = f.polynomial(
      square, {-1.9515295891e-4, 8.3321608736e-3, -1.6666654611e-1});
  sine = f.fma(f.multiply(sine, square), r, r);
  Value cosine =
      f.polynomial(square, {2.443315711809948e-5, -1.388731625493765e-3,
                            4.166664568298827e-2});
  cosine = f.fma(f.multiply(cosine, square), square,
                 f.fma(square, f.constant(-0.5), f.constant(1)));
  // The quarter of the circle: 0 to 3.
  Value quarter = wide.add(turns, wide.constant(quarters));
  Value circles = math::FloorOp::create(
      f.b, f.loc, wide.multiply(quarter, wide.constant(0.25)));
  quarter = wide.fma(circles, wide.constant(-4), quarter);
  Value one = wide.constant(1), two = wide.constant(2);
  Value isUpper = wide.isLess(quarter, two);
  Value isOdd = wide.isEqual(
      wide.select(isUpper, quarter, wide.subtract(quarter, two)), one);
  Value result = f.select(isOdd, cosine, sine);
  result = f.select(isUpper, result, f.negate(result));
  // -0 stays; infinity and NaN give NaN.
  if (quarters == 0)
    result = f.select(f.isEqual(x, f.constant(0)), x, result);
  Value isFinite = f.isLess(f.getSize(x), f.constant(INFINITY));
  return f.select(isFinite, result, f.constant(NAN));
}

struct ExpandSin : public FunctionPattern<math::SinOp> {
  using FunctionPattern::FunctionPattern;
  Value compute(const FloatBuilder &f, Value x) const override {
    return computeSine(f, x, 0);
  }
};

struct ExpandCos : public FunctionPattern<math::CosOp> {
  using FunctionPattern::FunctionPattern;
  Value compute(const FloatBuilder &f, Value x) const override {
    return computeSine(f, x, 1);
  }
};

/// Reduces the argument to an eighth of a circle, then uses a polynomial (of
/// the Cephes library).
struct ExpandAtan : public FunctionPattern<math::AtanOp> {
  using FunctionPattern::FunctionPattern;
  Value compute(const FloatBuilder &f, Value x) const override {
    Value size = f.getSize(x), one = f.constant(1), zero = f.constant(0);
    Value isSteep = f.isLess(f.constant(2.414213562373095), size);
    Value isMiddle = f.isLess(f.constant(0.4142135623730950), size);
    Value middle = f.divide(f.subtract(size, one), f.add(size, one));
    Value r = f.select(isSteep, f.divide(f.constant(-1), size),
                       f.select(isMiddle, middle, size));
    Value begin =
        f.select(isSteep, f.constant(1.5707963267948966),
                 f.select(isMiddle, f.constant(0.7853981633974483), zero));
    Value square = f.multiply(r, r);
    Value sum = f.polynomial(square, {8.05374449538e-2, -1.38776856032e-1,
                                      1.99777106478e-1, -3.33329491539e-1});
    sum = f.fma(f.multiply(sum, square), r, r);
    return f.withSign(f.add(begin, sum), x);
  }
};

//===----------------------------------------------------------------------===//
// Hyperbolic functions
//===----------------------------------------------------------------------===//

/// e^|x| / 2 as a square, which overflows no earlier than the result.
Value getHalfPower(const FloatBuilder &f, Value x, Value &root) {
  Value half = f.multiply(f.getSize(x), f.constant(0.5));
  root = math::ExpOp::create(f.b, f.loc, half);
  return f.multiply(f.multiply(root, f.constant(0.5)), root);
}

struct ExpandSinh : public FunctionPattern<math::SinhOp> {
  using FunctionPattern::FunctionPattern;
  Value compute(const FloatBuilder &f, Value x) const override {
    Value root, one = f.constant(1), size = f.getSize(x);
    Value power = getHalfPower(f, x, root);
    Value large = f.subtract(power, f.divide(f.constant(0.25), power));
    Value grown = math::ExpM1Op::create(f.b, f.loc, size);
    Value small = f.multiply(f.add(grown, f.divide(grown, f.add(grown, one))),
                             f.constant(0.5));
    Value result = f.select(f.isLess(size, one), small, large);
    return f.withSign(result, x);
  }
};

struct ExpandCosh : public FunctionPattern<math::CoshOp> {
  using FunctionPattern::FunctionPattern;
  Value compute(const FloatBuilder &f, Value x) const override {
    Value root;
    Value power = getHalfPower(f, x, root);
    return f.add(power, f.divide(f.constant(0.25), power));
  }
};

/// log(2 x) where a square of x might overflow.
Value getLogOfTwice(const FloatBuilder &f, Value x) {
  Value log = math::LogOp::create(f.b, f.loc, x);
  return f.add(log, f.constant(0.6931471805599453));
}

struct ExpandAsinh : public FunctionPattern<math::AsinhOp> {
  using FunctionPattern::FunctionPattern;
  Value compute(const FloatBuilder &f, Value x) const override {
    Value size = f.getSize(x), one = f.constant(1);
    Value square = f.multiply(size, size);
    Value root = math::SqrtOp::create(f.b, f.loc, f.add(square, one));
    Value more = f.add(size, f.divide(square, f.add(root, one)));
    Value small = math::Log1pOp::create(f.b, f.loc, more);
    Value isLarge = f.isLess(f.constant(1e18), size);
    return f.withSign(f.select(isLarge, getLogOfTwice(f, size), small), x);
  }
};

struct ExpandAcosh : public FunctionPattern<math::AcoshOp> {
  using FunctionPattern::FunctionPattern;
  Value compute(const FloatBuilder &f, Value x) const override {
    Value one = f.constant(1);
    Value more = f.subtract(x, one);
    Value root =
        math::SqrtOp::create(f.b, f.loc, f.multiply(more, f.add(x, one)));
    Value small = math::Log1pOp::create(f.b, f.loc, f.add(more, root));
    Value isLarge = f.isLess(f.constant(1e18), x);
    Value result = f.select(isLarge, getLogOfTwice(f, x), small);
    return f.select(f.isLess(x, one), f.constant(NAN), result);
  }
};

struct ExpandAtanh : public FunctionPattern<math::AtanhOp> {
  using FunctionPattern::FunctionPattern;
  Value compute(const FloatBuilder &f, Value x) const override {
    Value size = f.getSize(x);
    Value ratio = f.divide(f.add(size, size), f.subtract(f.constant(1), size));
    Value log = math::Log1pOp::create(f.b, f.loc, ratio);
    return f.withSign(f.multiply(log, f.constant(0.5)), x);
  }
};

//===----------------------------------------------------------------------===//
// Powers and remainders
//===----------------------------------------------------------------------===//

/// |x|^y by exp and log. The parity of y gives the sign for negative x; y that
/// is not an integer gives NaN.
struct ExpandPow : public OpRewritePattern<math::PowFOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(math::PowFOp op,
                                PatternRewriter &b) const override {
    Location loc = op.getLoc();
    Value x = op.getLhs(), y = op.getRhs();
    FloatBuilder f{b, loc, op.getType()};
    if (!getElementTypeOrSelf(f.type).isF32())
      return failure();
    Value one = f.constant(1), size = f.getSize(x);
    Value log = math::LogOp::create(b, loc, size);
    Value result = math::ExpOp::create(b, loc, f.multiply(y, log));
    Value half = f.multiply(y, f.constant(0.5));
    Value isEven = f.isEqual(f.getWhole(half), half);
    // -0 has negative powers as well.
    Value sign = f.withSign(one, x);
    Value odd = f.select(isEven, result, f.multiply(result, sign));
    // -0 and -infinity have powers that are not integers; other negatives do
    // not.
    Value isEnd = arith::OrIOp::create(b, loc, f.isEqual(x, f.constant(0)),
                                       f.isEqual(size, f.constant(INFINITY)));
    Value fraction = f.select(isEnd, result, f.constant(NAN));
    Value isWhole = f.isEqual(f.getWhole(y), y);
    Value isNegative = f.isEqual(sign, f.constant(-1));
    result = f.select(isNegative, f.select(isWhole, odd, fraction), result);
    // 1 to any power and any number to the power 0 are 1, NaN included; and so
    // is -1 to an infinite power.
    Value isInfinite = f.isEqual(f.getSize(y), f.constant(INFINITY));
    Value isUnit =
        arith::AndIOp::create(b, loc, f.isEqual(size, one), isInfinite);
    isUnit = arith::OrIOp::create(b, loc, isUnit, f.isEqual(x, one));
    isUnit = arith::OrIOp::create(b, loc, isUnit, f.isEqual(y, f.constant(0)));
    b.replaceOp(op, f.select(isUnit, one, result));
    return success();
  }
};

/// The remainder of x / y, in f64, by steps of 52 bits of the quotient, which
/// are exact: the quotient of f32 has up to 277 bits, that of f16 40. The
/// remainder of f64 is exact for quotients below 2^53.
struct ExpandRemainder : public OpRewritePattern<arith::RemFOp> {
  using OpRewritePattern::OpRewritePattern;

  /// x minus the multiple of y that is nearest to it towards 0.
  static Value reduce(const FloatBuilder &f, Value x, Value y) {
    Value quotient = f.getWhole(f.divide(x, y));
    Value rest = f.fma(f.negate(quotient), y, x);
    // A quotient that was rounded to the next number leads beyond zero.
    Value one = f.constant(1), zero = f.constant(0);
    Value less = f.subtract(quotient, f.withSign(one, quotient));
    Value before = f.fma(f.negate(less), y, x);
    Value sides = f.multiply(f.withSign(one, rest), f.withSign(one, x));
    Value isBeyond = arith::AndIOp::create(f.b, f.loc, f.isLess(sides, zero),
                                           f.isLess(zero, f.getSize(rest)));
    return f.select(isBeyond, before, rest);
  }

  LogicalResult matchAndRewrite(arith::RemFOp op,
                                PatternRewriter &b) const override {
    Location loc = op.getLoc();
    Type element = getElementTypeOrSelf(op.getType());
    FloatBuilder f{b, loc, withElement(op.getType(), b.getF64Type())};
    bool isWide = element.isF64();
    auto widen = [&](Value value) -> Value {
      return isWide ? value
                    : arith::ExtFOp::create(b, loc, f.type, value).getResult();
    };
    Value x = widen(op.getLhs()), y = widen(op.getRhs()), rest = x;
    constexpr int bits = 52;
    int steps = isWide || element.isF16() ? 1 : 6;
    for (int step = steps; step-- > 0;)
      rest = reduce(f, rest,
                    f.multiply(y, f.constant(std::ldexp(1.0, step * bits))));
    // The sign is that of x, and x stays where y is infinite.
    rest = f.withSign(rest, x);
    Value infinity = f.constant(INFINITY);
    Value keeps =
        arith::AndIOp::create(b, loc, f.isLess(f.getSize(x), infinity),
                              f.isEqual(f.getSize(y), infinity));
    rest = f.select(keeps, x, rest);
    if (!isWide)
      rest = arith::TruncFOp::create(b, loc, op.getType(), rest);
    b.replaceOp(op, rest);
    return success();
  }
};

//===----------------------------------------------------------------------===//
// Functions whose results are rounded to 16 bits
//===----------------------------------------------------------------------===//

/// True if all that depends on `value` is rounded to 16 bits after a few
/// multiplications and additions: an error of some units of f32 is not seen
/// then.
bool isRounded(Value value) {
  constexpr size_t maxOps = 32;
  llvm::SetVector<Value> values;
  values.insert(value);
  bool isRead = false;
  for (size_t next = 0; next < values.size() && next < maxOps; ++next)
    for (Operation *user : values[next].getUsers()) {
      isRead = true;
      if (auto rounding = dyn_cast<arith::TruncFOp>(user);
          rounding &&
          getElementTypeOrSelf(rounding.getType()).getIntOrFloatBitWidth() ==
              16)
        continue;
      if (!isa<arith::AddFOp, arith::MulFOp, arith::NegFOp, arith::SubFOp,
               vector::ExtractOp, vector::FromElementsOp>(user))
        return false;
      values.insert(user->getResult(0));
    }
  return isRead && values.size() <= maxOps;
}

/// A function of one number for which GPUs have an instruction, of each
/// element.
Value callApproximate(const FloatBuilder &f, StringRef name, Value x) {
  auto call = [&](Value element) -> Value {
    return LLVM::CallIntrinsicOp::create(f.b, f.loc, f.b.getF32Type(),
                                         f.b.getStringAttr("llvm.nvvm." + name),
                                         ValueRange{element})
        .getResult(0);
  };
  auto vector = dyn_cast<VectorType>(f.type);
  if (!vector)
    return call(x);
  SmallVector<Value> elements;
  Operation *taken = vector::ToElementsOp::create(f.b, f.loc, x);
  for (Value element : taken->getResults())
    elements.push_back(call(element));
  return vector::FromElementsOp::create(f.b, f.loc, f.type, elements);
}

/// 2^x; numbers below 2^-126 are 0.
Value raiseTwo(const FloatBuilder &f, Value x) {
  return callApproximate(f, "ex2.approx.ftz", x);
}

constexpr double log2OfE = 1.4426950408889634;

/// 1 + erf(y), as in GELU, by erfc(|y|) = P(t) exp(-y^2) with t = 1 / (1 + 0.4
/// |y|): P is the polynomial that has the least relative error, 1e-7, for |y| <
/// 9.6, the coefficients are rounded. Negative y lose no digits by a
/// difference.
struct ExpandRoundedErf : public OpRewritePattern<arith::AddFOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(arith::AddFOp op,
                                PatternRewriter &b) const override {
    FloatBuilder f{b, op.getLoc(), op.getType()};
    auto erf = op.getLhs().getDefiningOp<math::ErfOp>();
    FloatAttr one;
    if (!erf || !matchPattern(op.getRhs(), m_Constant(&one))) {
      DenseFPElementsAttr ones;
      if (!erf || !matchPattern(op.getRhs(), m_Constant(&ones)) ||
          !ones.isSplat())
        return failure();
      one = ones.getSplatValue<FloatAttr>();
    }
    if (!getElementTypeOrSelf(f.type).isF32() || !one ||
        one.getValueAsDouble() != 1 || !isRounded(op))
      return failure();
    Value y = erf.getOperand();
    Value power =
        raiseTwo(f, f.multiply(f.multiply(y, y), f.constant(-log2OfE)));
    Value sum = f.fma(f.getSize(y), f.constant(0.4), f.constant(1));
    Value t = callApproximate(f, "rcp.approx.ftz.f", sum);
    Value tail = f.polynomial(t, {0.071973736, -0.38710313, 0.678338667,
                                  -0.379753103, 0.423307666, 0.128055557,
                                  0.241099976, 0.224002962, 7.75650423e-05});
    tail = f.multiply(tail, power);
    b.replaceOp(op, f.select(f.isLess(y, f.constant(0)), tail,
                             f.subtract(f.constant(2), tail)));
    return success();
  }
};

/// Has a relative error of 2^-22 and of 2^-24 |x|.
struct ExpandRoundedExp : public OpRewritePattern<math::ExpOp> {
  ExpandRoundedExp(MLIRContext *context)
      : OpRewritePattern(context, /*benefit=*/3) {}

  LogicalResult matchAndRewrite(math::ExpOp op,
                                PatternRewriter &b) const override {
    FloatBuilder f{b, op.getLoc(), op.getType()};
    if (!getElementTypeOrSelf(f.type).isF32() || !isRounded(op))
      return failure();
    Value power = f.multiply(op.getOperand(), f.constant(log2OfE));
    b.replaceOp(op, raiseTwo(f, power));
    return success();
  }
};

} // namespace

void populateRoundedFunctionPatterns(RewritePatternSet &patterns) {
  patterns.add<ExpandRoundedErf, ExpandRoundedExp>(patterns.getContext());
}

void populateMathFunctionPatterns(RewritePatternSet &patterns) {
  patterns
      .add<ExpandSin, ExpandCos, ExpandAtan, ExpandSinh, ExpandCosh,
           ExpandAsinh, ExpandAcosh, ExpandAtanh, ExpandPow, ExpandRemainder>(
          patterns.getContext());
}

} // namespace mp
