//===- Elementwise.cpp - Operators on single elements ---------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Operands are broadcast as in numpy. 16-bit floats are computed in fp32 and
// rounded once.
//
//===----------------------------------------------------------------------===//

#include "../Rules.h"

using namespace mlir;

namespace mp {

using UnaryFn = Value (*)(NodeLowering &, Value);
using BinaryFn = Value (*)(NodeLowering &, Value, Value, bool isUnsigned);

template <UnaryFn fn> static LogicalResult unary(NodeLowering &node) {
  TensorValue x = node.in(0);
  node.set(node.e.map(node.outElement(), x,
                      [&](ValueRange values) { return fn(node, values[0]); }));
  return success();
}

template <BinaryFn fn> static LogicalResult binary(NodeLowering &node) {
  TensorValue x = node.in(0), y = node.in(1);
  bool isUnsigned = x.isUnsigned();
  node.set(node.e.map(node.outElement(), {x, y}, [&](ValueRange values) {
    return fn(node, values[0], values[1], isUnsigned);
  }));
  return success();
}

/// Combines any number of operands; the result is rounded once.
template <BinaryFn fn> static LogicalResult variadic(NodeLowering &node) {
  SmallVector<TensorValue> operands = node.operands();
  bool isUnsigned = operands[0].isUnsigned();
  node.set(node.e.map(node.outElement(), operands, [&](ValueRange values) {
    Value result = values[0];
    for (Value value : values.drop_front())
      result = fn(node, result, value, isUnsigned);
    return result;
  }));
  return success();
}

#define BINARY(NAME, EXPRESSION)                                               \
  static Value NAME(NodeLowering &node, Value x, Value y, bool isUnsigned) {   \
    Scalars &s = node.s;                                                       \
    (void)isUnsigned;                                                          \
    return EXPRESSION;                                                         \
  }
#define UNARY(NAME, EXPRESSION)                                                \
  static Value NAME(NodeLowering &node, Value x) {                             \
    Scalars &s = node.s;                                                       \
    return EXPRESSION;                                                         \
  }

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

BINARY(add, s.add(x, y))
BINARY(subtract, s.sub(x, y))
BINARY(multiply, s.mul(x, y))
BINARY(divide, s.div(x, y, isUnsigned))
BINARY(minimum, s.min(x, y, isUnsigned))
BINARY(maximum, s.max(x, y, isUnsigned))
UNARY(negate, s.neg(x))
UNARY(absolute, s.abs(x))
UNARY(reciprocal, s.div(s.like(x, 1), x))
UNARY(squareRoot, s.sqrt(x))

static LogicalResult meanRule(NodeLowering &node) {
  SmallVector<TensorValue> operands = node.operands();
  node.set(node.e.map(node.outElement(), operands, [&](ValueRange values) {
    Value sum = values[0];
    for (Value value : values.drop_front())
      sum = node.s.add(sum, value);
    return node.s.div(sum, node.s.like(sum, values.size()));
  }));
  return success();
}

static Value sign(NodeLowering &node, Value x) {
  Scalars &s = node.s;
  Value zero = s.like(x, 0);
  if (node.inElement(0).isUnsignedInteger())
    return s.select(s.compare(Scalars::NE, x, zero), s.like(x, 1), zero);
  Value negative = s.select(s.compare(Scalars::LT, x, zero), s.like(x, -1), x);
  return s.select(s.compare(Scalars::GT, x, zero), s.like(x, 1), negative);
}

/// The remainder with the divisor's sign, or with the dividend's if fmod = 1.
static Value modulo(NodeLowering &node, Value x, Value y, bool isUnsigned) {
  Scalars &s = node.s;
  Value rest = s.rem(x, y, isUnsigned);
  if (isUnsigned || node.getFlag("fmod"))
    return rest;
  Value zero = s.like(x, 0);
  Value differ = s.compare(Scalars::NE, s.compare(Scalars::LT, rest, zero),
                           s.compare(Scalars::LT, y, zero));
  Value isRest = s.compare(Scalars::NE, rest, zero);
  Value wraps = arith::AndIOp::create(s.b, s.loc, differ, isRest);
  return s.select(wraps, s.add(rest, y), rest);
}

/// Raises integers to an integer power by repeated squaring; 64 steps cover all
/// bits.
static Value integerPower(Scalars &s, Value x, Value y) {
  Type type = x.getType();
  Value one = s.integer(type, 1), zero = s.integer(type, 0);
  Value exponent = y;
  if (y.getType() != type)
    exponent =
        y.getType().getIntOrFloatBitWidth() < type.getIntOrFloatBitWidth()
            ? arith::ExtSIOp::create(s.b, s.loc, type, y).getResult()
            : arith::TruncIOp::create(s.b, s.loc, type, y).getResult();
  auto loop = scf::WhileOp::create(
      s.b, s.loc, TypeRange{type, type, type}, ValueRange{one, x, exponent},
      [&](OpBuilder &b, Location loc, ValueRange v) {
        Value more = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sgt,
                                           v[2], zero);
        scf::ConditionOp::create(b, loc, more, v);
      },
      [&](OpBuilder &b, Location loc, ValueRange v) {
        Value odd = arith::CmpIOp::create(
            b, loc, arith::CmpIPredicate::ne,
            arith::AndIOp::create(b, loc, v[2], one), zero);
        Value product = arith::MulIOp::create(b, loc, v[0], v[1]);
        Value result = arith::SelectOp::create(b, loc, odd, product, v[0]);
        Value square = arith::MulIOp::create(b, loc, v[1], v[1]);
        Value half = arith::ShRSIOp::create(b, loc, v[2], one);
        scf::YieldOp::create(b, loc, ValueRange{result, square, half});
      });
  return loop.getResult(0);
}

static LogicalResult powRule(NodeLowering &node) {
  TensorValue x = node.in(0), y = node.in(1);
  std::optional<double> exponent =
      getConstantFloat(node.getNode()->getOperand(1));
  node.set(node.e.map(node.outElement(), {x, y}, [&](ValueRange values) {
    Scalars &s = node.s;
    Value base = values[0], power = values[1];
    if (!Scalars::isFloat(base) && !Scalars::isFloat(power))
      return integerPower(s, base, power);
    if (exponent == 2.0 && Scalars::isFloat(base))
      return s.mul(base, base);
    if (exponent == 3.0 && Scalars::isFloat(base))
      return s.mul(s.mul(base, base), base);
    // The wider of both types is used, like in the C library.
    Type type = node.e.b.getF32Type();
    for (Value value : {base, power})
      if (value.getType().isF64() || value.getType().isInteger(64))
        type = node.e.b.getF64Type();
    base = s.convert(base, x.element, type);
    power = s.convert(power, y.element, type);
    Value result = math::PowFOp::create(s.b, s.loc, base, power);
    return s.convert(result, type, x.element);
  }));
  return success();
}

static LogicalResult clipRule(NodeLowering &node) {
  TensorValue x = node.in(0);
  bool isUnsigned = x.isUnsigned();
  bool byAttribute = node.states("min") || node.states("max");
  SmallVector<TensorValue> operands = {x};
  bool hasLow = node.has(1), hasHigh = node.has(2);
  for (unsigned index : {1, 2})
    if (node.has(index))
      operands.push_back(node.in(index));
  node.set(node.e.map(node.outElement(), operands, [&](ValueRange values) {
    Scalars &s = node.s;
    Value result = values[0];
    if (byAttribute) {
      if (node.states("min"))
        result = s.max(result, s.like(result, node.getFloat("min")));
      if (node.states("max"))
        result = s.min(result, s.like(result, node.getFloat("max")));
      return result;
    }
    if (hasLow)
      result = s.max(result, values[1], isUnsigned);
    if (hasHigh)
      result = s.min(result, values.back(), isUnsigned);
    return result;
  }));
  return success();
}

//===----------------------------------------------------------------------===//
// Comparisons, logic, bits
//===----------------------------------------------------------------------===//

BINARY(equal, s.compare(Scalars::EQ, x, y, isUnsigned))
BINARY(less, s.compare(Scalars::LT, x, y, isUnsigned))
BINARY(lessOrEqual, s.compare(Scalars::LE, x, y, isUnsigned))
BINARY(greater, s.compare(Scalars::GT, x, y, isUnsigned))
BINARY(greaterOrEqual, s.compare(Scalars::GE, x, y, isUnsigned))
BINARY(bitAnd, arith::AndIOp::create(s.b, s.loc, x, y))
BINARY(bitOr, arith::OrIOp::create(s.b, s.loc, x, y))
BINARY(bitXor, arith::XOrIOp::create(s.b, s.loc, x, y))
UNARY(logicalNot, s.logicalNot(x))
UNARY(bitNot, arith::XOrIOp::create(s.b, s.loc, x, s.integer(x.getType(), -1)))

/// Shifts by the width or more, or by less than 0, return only shifted-in bits:
/// zeros, or signs if a signed integer is shifted to the right.
static Value shift(NodeLowering &node, Value x, Value y, bool isUnsigned) {
  Scalars &s = node.s;
  int64_t width = x.getType().getIntOrFloatBitWidth();
  Value limit = s.integer(x.getType(), width);
  Value fits = s.compare(Scalars::LT, y, limit, /*isUnsigned=*/true);
  Value zero = s.integer(x.getType(), 0);
  if (node.getString("direction") == "LEFT") {
    Value amount = s.select(fits, y, zero);
    Value shifted = arith::ShLIOp::create(s.b, s.loc, x, amount);
    return s.select(fits, shifted, zero);
  }
  if (isUnsigned) {
    Value amount = s.select(fits, y, zero);
    Value shifted = arith::ShRUIOp::create(s.b, s.loc, x, amount);
    return s.select(fits, shifted, zero);
  }
  Value amount = s.select(fits, y, s.integer(x.getType(), width - 1));
  return arith::ShRSIOp::create(s.b, s.loc, x, amount);
}

static LogicalResult whereRule(NodeLowering &node) {
  node.set(node.e.map(node.outElement(), node.operands(), [&](ValueRange v) {
    return node.s.select(v[0], v[1], v[2]);
  }));
  return success();
}

static Value isNaN(NodeLowering &node, Value x) {
  return node.s.compare(Scalars::NE, x, x);
}

static Value isInf(NodeLowering &node, Value x) {
  Scalars &s = node.s;
  Value infinity = s.constant(x.getType(), INFINITY);
  Value high = s.compare(Scalars::EQ, x, infinity);
  Value low = s.compare(Scalars::EQ, x, s.constant(x.getType(), -INFINITY));
  if (!node.getFlag("detect_negative"))
    return high;
  if (!node.getFlag("detect_positive"))
    return low;
  return arith::OrIOp::create(s.b, s.loc, high, low);
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

template <typename Op> static Value apply(NodeLowering &node, Value x) {
  return node.s.math<Op>(x);
}

UNARY(exponential, s.exp(x))
UNARY(logarithm, s.log(x))
UNARY(sigmoid, s.sigmoid(x))

/// `x` where it is positive, else `otherwise`.
static Value ifPositive(Scalars &s, Value x, Value otherwise) {
  return s.select(s.compare(Scalars::GT, x, s.like(x, 0)), x, otherwise);
}

static Value relu(NodeLowering &node, Value x) {
  // NaN stays NaN.
  return node.s.max(x, node.s.like(x, 0));
}

static Value leakyRelu(NodeLowering &node, Value x) {
  Scalars &s = node.s;
  Value scaled = s.mul(x, s.like(x, node.getFloat("alpha")));
  return s.select(s.compare(Scalars::LT, x, s.like(x, 0)), scaled, x);
}

BINARY(parametricRelu,
       s.select(s.compare(Scalars::LT, x, s.like(x, 0)), s.mul(x, y), x))

static Value exponentialMinusOne(Scalars &s, Value x) {
  return s.math<math::ExpM1Op>(x);
}

static Value elu(NodeLowering &node, Value x) {
  Scalars &s = node.s;
  return ifPositive(
      s, x,
      s.mul(s.like(x, node.getFloat("alpha")), exponentialMinusOne(s, x)));
}

static Value selu(NodeLowering &node, Value x) {
  Scalars &s = node.s;
  double alpha = node.getFloat("alpha");
  double gamma = node.getFloat("gamma");
  Value low = s.mul(s.like(x, alpha), exponentialMinusOne(s, x));
  return s.mul(s.like(x, gamma), ifPositive(s, x, low));
}

static Value celu(NodeLowering &node, Value x) {
  Scalars &s = node.s;
  Value alpha = s.like(x, node.getFloat("alpha"));
  Value low = s.mul(alpha, exponentialMinusOne(s, s.div(x, alpha)));
  Value zero = s.like(x, 0);
  return s.add(s.max(x, zero), s.min(low, zero));
}

static Value hardSigmoid(NodeLowering &node, Value x) {
  Scalars &s = node.s;
  double beta = node.getFloat("beta");
  Value y = s.add(s.mul(x, s.like(x, node.getFloat("alpha"))), s.like(x, beta));
  return s.max(s.min(y, s.like(x, 1)), s.like(x, 0));
}

static Value thresholdedRelu(NodeLowering &node, Value x) {
  Scalars &s = node.s;
  Value above = s.compare(Scalars::GT, x, s.like(x, node.getFloat("alpha")));
  return s.select(above, x, s.like(x, 0));
}

/// log(1 + exp(x)) = max(x, 0) + log1p(exp(-|x|)), which does not overflow.
static Value softplus(NodeLowering &node, Value x) {
  Scalars &s = node.s;
  Value tail = s.math<math::Log1pOp>(s.exp(s.neg(s.abs(x))));
  return s.add(s.max(x, s.like(x, 0)), tail);
}

UNARY(softsign, s.div(x, s.add(s.like(x, 1), s.abs(x))))
UNARY(mish, s.mul(x, s.tanh(softplus(node, x))))

static Value gelu(NodeLowering &node, Value x) {
  Scalars &s = node.s;
  Value inner;
  if (node.getString("approximate") == "tanh") {
    Value cube = s.mul(s.mul(x, x), x);
    Value sum = s.add(x, s.mul(s.like(x, 0.044715), cube));
    inner = s.tanh(s.mul(s.like(x, 0.7978845608028654), sum));
  } else {
    inner = s.math<math::ErfOp>(s.mul(x, s.like(x, 0.7071067811865476)));
  }
  return s.mul(s.mul(s.like(x, 0.5), x), s.add(s.like(x, 1), inner));
}

static Value shrink(NodeLowering &node, Value x) {
  Scalars &s = node.s;
  double lambda = node.getFloat("lambd");
  Value bias = s.like(x, node.getFloat("bias"));
  Value high = s.compare(Scalars::GT, x, s.like(x, lambda));
  Value low = s.compare(Scalars::LT, x, s.like(x, -lambda));
  return s.select(low, s.add(x, bias),
                  s.select(high, s.sub(x, bias), s.like(x, 0)));
}

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

static LogicalResult castRule(NodeLowering &node) {
  node.set(node.e.cast(node.in(0), node.outElement()));
  return success();
}

/// Copies the bits of an element, not its number.
static LogicalResult bitCastRule(NodeLowering &node) {
  Emitter &e = node.e;
  TensorValue x = node.in(0);
  Type to = node.outElement(), storage = to ? getStorageType(to) : Type();
  if (!storage || to.isInteger(1) ||
      storage.getIntOrFloatBitWidth() != x.getType().getElementTypeBitWidth())
    return node.fail("expected types of one width, and not bool");
  Value init = e.empty(e.sizes(x), to);
  AffineMap map = e.b.getMultiDimIdentityMap(x.getRank());
  SmallVector<utils::IteratorType> iterators(x.getRank(),
                                             utils::IteratorType::parallel);
  auto op = linalg::GenericOp::create(
      e.b, e.loc, init.getType(), x.value, init, {map, map}, iterators,
      [&](OpBuilder &b, Location loc, ValueRange arguments) {
        Value bits = arguments[0];
        if (bits.getType() != storage)
          bits = arith::BitcastOp::create(b, loc, storage, bits);
        linalg::YieldOp::create(b, loc, bits);
      });
  e.noteSizes(op.getResult(0), e.sizes(x));
  node.set({op.getResult(0), to});
  return success();
}

static LogicalResult identityRule(NodeLowering &node) {
  node.forward(0);
  return success();
}

ArrayRef<LoweringRule> getElementwiseLowerings() {
  static const LoweringRule rules[] = {
      {"Abs", unary<absolute>},
      {"Acos", unary<apply<math::AcosOp>>},
      {"Acosh", unary<apply<math::AcoshOp>>},
      {"Add", binary<add>},
      {"And", binary<bitAnd>},
      {"Asin", unary<apply<math::AsinOp>>},
      {"Asinh", unary<apply<math::AsinhOp>>},
      {"Atan", unary<apply<math::AtanOp>>},
      {"Atanh", unary<apply<math::AtanhOp>>},
      {"BitCast", bitCastRule},
      {"BitShift", binary<shift>},
      {"BitwiseAnd", binary<bitAnd>},
      {"BitwiseNot", unary<bitNot>},
      {"BitwiseOr", binary<bitOr>},
      {"BitwiseXor", binary<bitXor>},
      {"Cast", castRule},
      {"CastLike", castRule},
      {"Ceil", unary<apply<math::CeilOp>>},
      {"Celu", unary<celu>},
      {"Clip", clipRule},
      {"Cos", unary<apply<math::CosOp>>},
      {"Cosh", unary<apply<math::CoshOp>>},
      {"Div", binary<divide>},
      {"Elu", unary<elu>},
      {"Equal", binary<equal>},
      {"Erf", unary<apply<math::ErfOp>>},
      {"Exp", unary<exponential>},
      {"Floor", unary<apply<math::FloorOp>>},
      {"Gelu", unary<gelu>},
      {"Greater", binary<greater>},
      {"GreaterOrEqual", binary<greaterOrEqual>},
      {"HardSigmoid", unary<hardSigmoid>},
      {"Identity", identityRule},
      {"IsInf", unary<isInf>},
      {"IsNaN", unary<isNaN>},
      {"LeakyRelu", unary<leakyRelu>},
      {"Less", binary<less>},
      {"LessOrEqual", binary<lessOrEqual>},
      {"Log", unary<logarithm>},
      {"Max", variadic<maximum>},
      {"Mean", meanRule},
      {"Min", variadic<minimum>},
      {"Mish", unary<mish>},
      {"Mod", binary<modulo>},
      {"Mul", binary<multiply>},
      {"Neg", unary<negate>},
      {"Not", unary<logicalNot>},
      {"Or", binary<bitOr>},
      {"PRelu", binary<parametricRelu>},
      {"Pow", powRule},
      {"Reciprocal", unary<reciprocal>},
      {"Relu", unary<relu>},
      {"Round", unary<apply<math::RoundEvenOp>>},
      {"Selu", unary<selu>},
      {"Shrink", unary<shrink>},
      {"Sigmoid", unary<sigmoid>},
      {"Sign", unary<sign>},
      {"Sin", unary<apply<math::SinOp>>},
      {"Sinh", unary<apply<math::SinhOp>>},
      {"Softplus", unary<softplus>},
      {"Softsign", unary<softsign>},
      {"Sqrt", unary<squareRoot>},
      {"Sub", binary<subtract>},
      {"Sum", variadic<add>},
      {"Tan", unary<apply<math::TanOp>>},
      {"Tanh", unary<apply<math::TanhOp>>},
      {"ThresholdedRelu", unary<thresholdedRelu>},
      {"Where", whereRule},
      {"Xor", binary<bitXor>},
  };
  return rules;
}

} // namespace mp
