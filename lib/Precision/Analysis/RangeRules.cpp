//===- RangeRules.cpp - Ranges of results from ranges of operands ---------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// There is one rule per operator or family, in a table at the end. A rule holds
// for all versions of its operator; attributes have the schema's default where
// they matter.
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Operators/NodeView.h"
#include "mp-opt/Operators/OperatorTraits.h"
#include "mp-opt/Precision/Analysis/RangeAnalysis.h"

#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace mp::onnxir;

namespace mp {

static constexpr double infinity = std::numeric_limits<double>::infinity();

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

/// A sum or product of bounds; if it is NaN, the bound is unknown.
static double orElse(double number, double otherwise) {
  return std::isnan(number) ? otherwise : number;
}

static Interval add(const Interval &a, const Interval &b) {
  Interval sum = Interval::within(orElse(a.lo + b.lo, -infinity),
                                  orElse(a.hi + b.hi, infinity),
                                  a.isInteger && b.isInteger);
  sum.maxAtLeast =
      orElse(std::max(a.maxAtLeast + b.lo, a.lo + b.maxAtLeast), -infinity);
  sum.minAtMost =
      orElse(std::min(a.minAtMost + b.hi, a.hi + b.minAtMost), infinity);
  return sum;
}

static Interval negate(const Interval &a) {
  Interval range = Interval::within(-a.hi, -a.lo, a.isInteger);
  range.minAtMost = -a.maxAtLeast;
  range.maxAtLeast = -a.minAtMost;
  return range;
}

/// `a` times one number, element by element.
static Interval scale(const Interval &a, double factor) {
  if (factor < 0)
    return scale(negate(a), -factor);
  if (factor == 0)
    return Interval::exactly(0, 0, true);
  Interval range =
      Interval::within(a.lo * factor, a.hi * factor,
                       a.isInteger && std::floor(factor) == factor);
  range.minAtMost = a.minAtMost * factor;
  range.maxAtLeast = a.maxAtLeast * factor;
  return range;
}

static bool isPoint(const Interval &a) { return a.lo == a.hi; }

static Interval multiply(const Interval &a, const Interval &b) {
  if (isPoint(b))
    return scale(a, b.lo);
  if (isPoint(a))
    return scale(b, a.lo);
  // Zero times an unbounded but finite number is zero.
  auto product = [](double x, double y) { return x && y ? x * y : 0; };
  double corners[] = {product(a.lo, b.lo), product(a.lo, b.hi),
                      product(a.hi, b.lo), product(a.hi, b.hi)};
  Interval range = Interval::within(
      *std::min_element(std::begin(corners), std::end(corners)),
      *std::max_element(std::begin(corners), std::end(corners)),
      a.isInteger && b.isInteger);
  if (a.lo >= 0 && b.lo >= 0)
    range.maxAtLeast = std::max(product(std::max(a.maxAtLeast, 0.0), b.lo),
                                product(a.lo, std::max(b.maxAtLeast, 0.0)));
  return range;
}

static Interval square(const Interval &a) {
  double least =
      a.lo <= 0 && a.hi >= 0 ? 0 : std::min(std::fabs(a.lo), std::fabs(a.hi));
  double most = a.getMaxMagnitude(), reached = a.getReached();
  Interval range = Interval::within(least * least, most * most, a.isInteger);
  if (reached)
    range.maxAtLeast = reached * reached;
  return range;
}

/// The image under a function that never decreases.
template <typename Map> static Interval mapRising(const Interval &a, Map map) {
  Interval range = Interval::within(map(a.lo), map(a.hi));
  if (std::isfinite(a.minAtMost))
    range.minAtMost = orElse(map(a.minAtMost), infinity);
  if (std::isfinite(a.maxAtLeast))
    range.maxAtLeast = orElse(map(a.maxAtLeast), -infinity);
  return range;
}

static Interval reciprocal(const Interval &a) {
  if (a.lo <= 0 && a.hi >= 0)
    return {};
  auto map = [](double x) { return 1 / x; };
  return mapRising(negate(a), [&](double x) { return map(-x); });
}

static bool isIntegerResult(const OperandRanges &in) {
  return isa_and_nonnull<IntegerType>(
      getTensorElementType(in.op->getResult(0).getType()));
}

static Interval ruleAdd(const OperandRanges &in) {
  Interval sum = Interval::exactly(0, 0, true);
  for (unsigned index = 0; index < in.op->getNumOperands(); ++index)
    sum = add(sum, in(index));
  return sum;
}

static Interval ruleSub(const OperandRanges &in) {
  return add(in(0), negate(in(1)));
}

static Interval ruleMul(const OperandRanges &in) {
  if (in.op->getOperand(0) == in.op->getOperand(1))
    return square(in(0));
  return multiply(in(0), in(1));
}

static Interval ruleDiv(const OperandRanges &in) {
  Interval range = multiply(in(0), reciprocal(in(1)));
  range.isInteger = false;
  if (isIntegerResult(in))
    return mapRising(range, [](double x) { return std::trunc(x); });
  return range;
}

static Interval ruleNeg(const OperandRanges &in) { return negate(in(0)); }

static Interval ruleReciprocal(const OperandRanges &in) {
  return reciprocal(in(0));
}

static Interval ruleAbs(const OperandRanges &in) {
  Interval a = in(0);
  double least =
      a.lo <= 0 && a.hi >= 0 ? 0 : std::min(std::fabs(a.lo), std::fabs(a.hi));
  Interval range = Interval::within(least, a.getMaxMagnitude(), a.isInteger);
  if (a.getReached())
    range.maxAtLeast = a.getReached();
  return range;
}

static Interval rulePow(const OperandRanges &in) {
  Interval base = in(0), exponent = in(1);
  if (!isPoint(exponent))
    return {};
  double power = exponent.lo;
  if (power == 2)
    return square(base);
  auto map = [&](double x) { return std::pow(x, power); };
  if (base.lo >= 0 && power >= 0)
    return mapRising(base, map);
  if (base.lo > 0)
    return reciprocal(mapRising(base, [&](double x) { return 1 / map(x); }));
  if (std::floor(power) == power && std::fmod(power, 2) == 0)
    return Interval::within(0, infinity);
  return {};
}

//===----------------------------------------------------------------------===//
// Bounds and choices
//===----------------------------------------------------------------------===//

static Interval lesser(const Interval &a, const Interval &b) {
  Interval range = Interval::within(std::min(a.lo, b.lo), std::min(a.hi, b.hi),
                                    a.isInteger && b.isInteger);
  // The least of all elements is the lesser of both least elements.
  range.minAtMost = std::min(a.minAtMost, b.minAtMost);
  range.maxAtLeast =
      std::max(std::min(a.maxAtLeast, b.lo), std::min(a.lo, b.maxAtLeast));
  return range;
}

static Interval greater(const Interval &a, const Interval &b) {
  return negate(lesser(negate(a), negate(b)));
}

static Interval ruleMin(const OperandRanges &in) {
  Interval range = in(0);
  for (unsigned index = 1; index < in.op->getNumOperands(); ++index)
    range = lesser(range, in(index));
  return range;
}

static Interval ruleMax(const OperandRanges &in) {
  Interval range = in(0);
  for (unsigned index = 1; index < in.op->getNumOperands(); ++index)
    range = greater(range, in(index));
  return range;
}

/// One bound of a Clip: an operand, or the attribute of older versions.
static Interval getClipBound(const OperandRanges &in, unsigned index,
                             StringRef name, double otherwise) {
  if (in.has(index))
    return in(index);
  double number = getFloat(in.op, name, otherwise);
  return Interval::exactly(number, number);
}

static Interval ruleClip(const OperandRanges &in) {
  Interval range = greater(in(0), getClipBound(in, 1, "min", -infinity));
  range = lesser(range, getClipBound(in, 2, "max", infinity));
  range.isInteger = false;
  return range;
}

static Interval ruleLeakyRelu(const OperandRanges &in) {
  double alpha = NodeView(in.op).getFloat("alpha");
  if (alpha < 0)
    return {};
  return mapRising(in(0), [&](double x) { return x < 0 ? alpha * x : x; });
}

static Interval ruleElu(const OperandRanges &in) {
  double alpha = NodeView(in.op).getFloat("alpha");
  if (alpha < 0)
    return {};
  return mapRising(in(0),
                   [&](double x) { return x < 0 ? alpha * std::expm1(x) : x; });
}

/// Gelu, HardSwish, Mish, Swish: results lie between -1 and the operand.
static Interval ruleGated(const OperandRanges &in) {
  return Interval::within(-1, std::max(0.0, in(0).hi));
}

static Interval joinOperands(const OperandRanges &in, unsigned first) {
  Interval range = in(first);
  for (unsigned index = first + 1; index < in.op->getNumOperands(); ++index)
    range = range.join(in(index));
  return range;
}

static Interval ruleConcat(const OperandRanges &in) {
  return joinOperands(in, 0);
}

static Interval ruleWhere(const OperandRanges &in) {
  return joinOperands(in, 1).withoutWitness();
}

//===----------------------------------------------------------------------===//
// Data movement
//===----------------------------------------------------------------------===//

/// Results have all elements of the first operand, and no others.
static Interval ruleMoves(const OperandRanges &in) {
  return in.result == 0 ? in(0)
                        : getRangeOfType(in.op->getResult(in.result).getType());
}

/// Results have elements of the first operand, perhaps not all.
static Interval rulePicks(const OperandRanges &in) {
  return ruleMoves(in).withoutWitness();
}

static Interval ruleSplit(const OperandRanges &in) {
  return in(0).withoutWitness();
}

static Interval ruleOrZero(const OperandRanges &in) {
  return in(0).join(Interval::exactly(0, 0, true)).withoutWitness();
}

static Interval rulePad(const OperandRanges &in) {
  double value = NodeView(in.op).getFloat("value");
  Interval padding = in.has(2) ? in(2) : Interval::exactly(value, value);
  return in(0).join(padding).withoutWitness();
}

/// Elements of the data or of the updates, unless updates are added.
static Interval ruleScatter(const OperandRanges &in) {
  auto reduction = in.op->getAttrOfType<StringAttr>("reduction");
  if (reduction && reduction.getValue() != "none")
    return {};
  return in(0).join(in(2)).withoutWitness();
}

static Interval ruleReduceMax(const OperandRanges &in) {
  Interval range = in(0);
  range.minAtMost = infinity;
  return range;
}

static Interval ruleReduceMin(const OperandRanges &in) {
  Interval range = in(0);
  range.maxAtLeast = -infinity;
  return range;
}

static Interval ruleCast(const OperandRanges &in) {
  Interval range = in(0);
  Type to = getTensorElementType(in.op->getResult(0).getType());
  if (!to || to.isInteger(1))
    return Interval::within(0, 1, true);
  if (isa<IntegerType>(to)) {
    range = mapRising(range, [](double x) { return std::trunc(x); });
    range.isInteger = true;
    return range;
  }
  return range;
}

//===----------------------------------------------------------------------===//
// Shapes, indices, sums
//===----------------------------------------------------------------------===//

static Interval ruleShape(const OperandRanges &in) {
  double most = double(std::numeric_limits<int64_t>::max());
  auto type = dyn_cast<RankedTensorType>(in.op->getOperand(0).getType());
  if (type && type.hasStaticShape()) {
    most = 0;
    for (int64_t dim : type.getShape())
      most = std::max(most, double(dim));
  }
  return Interval::within(0, most, true);
}

static Interval ruleSize(const OperandRanges &in) {
  auto type = dyn_cast<RankedTensorType>(in.op->getOperand(0).getType());
  double count =
      type && type.hasStaticShape() ? double(type.getNumElements()) : -1;
  return count < 0 ? Interval::within(0, double(INT64_MAX), true)
                   : Interval::exactly(count, count, true);
}

static Interval ruleRange(const OperandRanges &in) {
  Interval start = in(0), limit = in(1), delta = in(2);
  bool isInteger = start.isInteger && delta.isInteger;
  return start.join(limit).withoutWitness().isUnknown()
             ? Interval()
             : Interval::within(std::min(start.lo, limit.lo),
                                std::max(start.hi, limit.hi), isInteger);
}

static Interval ruleZeroOrOne(const OperandRanges &) {
  return Interval::within(0, 1, true);
}

static Interval ruleOneHot(const OperandRanges &in) {
  return in(2).withoutWitness();
}

/// The number of operand elements per element of the result; 0 if unknown.
static double getReducedCount(Operation *op) {
  auto from = dyn_cast<RankedTensorType>(op->getOperand(0).getType());
  auto to = dyn_cast<RankedTensorType>(op->getResult(0).getType());
  if (!from || !to || !from.hasStaticShape() || !to.hasStaticShape() ||
      to.getNumElements() == 0)
    return 0;
  return double(from.getNumElements()) / double(to.getNumElements());
}

static Interval ruleReduceSum(const OperandRanges &in) {
  double count = getReducedCount(in.op);
  Interval a = in(0);
  if (!count || !a.isBounded())
    return {};
  return Interval::within(a.lo * count, a.hi * count, a.isInteger);
}

/// A sum of `terms` products, to which `bias` is added.
static Interval sumOfProducts(const Interval &a, const Interval &b,
                              double terms, const Interval &bias) {
  Interval product = multiply(a, b).withoutWitness();
  if (terms < 0 || !product.isBounded())
    return {};
  return add(scale(product, terms), bias).withoutWitness();
}

/// A dimension counted from the front, or from the end if negative; -1 if it
/// is unknown.
static double getDim(Value value, int64_t index) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type)
    return -1;
  if (index < 0)
    index += type.getRank();
  if (index < 0 || index >= type.getRank() || type.isDynamicDim(index))
    return -1;
  return double(type.getDimSize(index));
}

// The range of weights is needed only if the other operand is bounded.
static Interval ruleMatMul(const OperandRanges &in) {
  Interval a = in(0);
  if (!a.isBounded())
    return {};
  return sumOfProducts(a, in(1), getDim(in.op->getOperand(0), -1),
                       Interval::exactly(0, 0));
}

static Interval ruleGemm(const OperandRanges &in) {
  Interval a = in(0);
  if (!a.isBounded())
    return {};
  auto transposed = in.op->getAttrOfType<IntegerAttr>("transA");
  double terms =
      getDim(in.op->getOperand(0), transposed && transposed.getInt() ? 0 : 1);
  Interval bias = in.has(2) ? scale(in(2), NodeView(in.op).getFloat("beta"))
                            : Interval::exactly(0, 0);
  return sumOfProducts(scale(a, NodeView(in.op).getFloat("alpha")), in(1),
                       terms, bias);
}

static Interval ruleConv(const OperandRanges &in) {
  Interval a = in(0);
  auto weight = dyn_cast<RankedTensorType>(in.op->getOperand(1).getType());
  if (!a.isBounded() || !weight || !weight.hasStaticShape() ||
      !weight.getRank() || !weight.getDimSize(0))
    return {};
  // Padding adds zeros.
  return sumOfProducts(a.join(Interval::exactly(0, 0, true)), in(1),
                       double(weight.getNumElements()) / weight.getDimSize(0),
                       in.has(2) ? in(2) : Interval::exactly(0, 0));
}

/// The yields of both branches.
static Interval ruleIf(const OperandRanges &in) {
  std::optional<Interval> range;
  for (Region &region : in.op->getRegions()) {
    YieldOp yield = getYield(region);
    if (!yield || in.result >= yield->getNumOperands())
      return {};
    Interval branch = in.of(yield->getOperand(in.result));
    range = range ? range->join(branch) : branch;
  }
  return range ? range->withoutWitness() : Interval();
}

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

/// Rules for rising functions of one operand (`ruleRising0`: not defined below
/// zero), and for results that are always within [lo, hi].
template <double (*map)(double)>
static Interval ruleRising(const OperandRanges &in) {
  return mapRising(in(0), map);
}
template <double (*map)(double)>
static Interval ruleRising0(const OperandRanges &in) {
  // Results of operands below zero are NaN.
  return mapRising(greater(in(0), Interval::within(0, infinity)), map);
}
template <int lo, int hi> static Interval ruleBounded(const OperandRanges &) {
  return Interval::within(lo, hi);
}

static double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
static double softplus(double x) {
  return x > 30 ? x : std::log1p(std::exp(x));
}
static double relu(double x) { return x < 0 ? 0 : x; }
static double softsign(double x) {
  return std::isinf(x) ? std::copysign(1, x) : x / (1 + std::fabs(x));
}
static double tanhOf(double x) { return std::tanh(x); }
static double erfOf(double x) { return std::erf(x); }
static double expOf(double x) { return std::exp(x); }
static double logOf(double x) { return std::log(x); }
static double sqrtOf(double x) { return std::sqrt(x); }
static double floorOf(double x) { return std::floor(x); }
static double ceilOf(double x) { return std::ceil(x); }
static double roundOf(double x) { return std::nearbyint(x); }

static Interval ruleNegative(const OperandRanges &) {
  return Interval::within(-infinity, 0);
}

/// Rules for operators whose traits bound their results.
static RangeRule getRuleOfTraits(const OperatorTraits &traits) {
  if (traits.kind == OperatorKind::Movement)
    return ruleMoves;
  return traits.has(Within) ? rulePicks : RangeRule();
}

RangeRule getRangeRule(StringRef opType) {
  return llvm::StringSwitch<RangeRule>(opType)
      .Cases({"Trilu", "CenterCropPad", "AveragePool"}, ruleOrZero)
      .Case("Split", ruleSplit)
      .Case("Pad", rulePad)
      .Cases({"Scatter", "ScatterElements", "ScatterND"}, ruleScatter)
      .Cases({"Add", "Sum"}, ruleAdd)
      .Case("Sub", ruleSub)
      .Case("Mul", ruleMul)
      .Case("Div", ruleDiv)
      .Case("Neg", ruleNeg)
      .Case("Reciprocal", ruleReciprocal)
      .Case("Abs", ruleAbs)
      .Case("Pow", rulePow)
      .Case("Min", ruleMin)
      .Case("Max", ruleMax)
      .Case("Clip", ruleClip)
      .Case("Relu", ruleRising<relu>)
      .Case("LeakyRelu", ruleLeakyRelu)
      .Case("Elu", ruleElu)
      .Cases({"Gelu", "HardSwish", "Mish"}, ruleGated)
      .Case("Sigmoid", ruleRising<sigmoid>)
      .Case("Tanh", ruleRising<tanhOf>)
      .Case("Erf", ruleRising<erfOf>)
      .Case("Exp", ruleRising<expOf>)
      .Case("Softplus", ruleRising<softplus>)
      .Case("Softsign", ruleRising<softsign>)
      .Case("Floor", ruleRising<floorOf>)
      .Case("Ceil", ruleRising<ceilOf>)
      .Case("Round", ruleRising<roundOf>)
      .Case("Log", ruleRising0<logOf>)
      .Case("Sqrt", ruleRising0<sqrtOf>)
      .Cases({"Softmax", "HardSigmoid", "Hardmax"}, ruleBounded<0, 1>)
      .Cases({"Sin", "Cos", "Sign"}, ruleBounded<-1, 1>)
      .Case("LogSoftmax", ruleNegative)
      .Case("Concat", ruleConcat)
      .Case("Where", ruleWhere)
      .Case("Cast", ruleCast)
      .Case("Shape", ruleShape)
      .Case("Size", ruleSize)
      .Case("Range", ruleRange)
      .Case("EyeLike", ruleZeroOrOne)
      .Case("OneHot", ruleOneHot)
      .Case("ReduceMax", ruleReduceMax)
      .Case("ReduceMin", ruleReduceMin)
      .Case("ReduceSum", ruleReduceSum)
      .Case("MatMul", ruleMatMul)
      .Case("Gemm", ruleGemm)
      .Case("Conv", ruleConv)
      .Case("If", ruleIf)
      .Default(getRuleOfTraits(getOperatorTraits("", opType)));
}

} // namespace mp
