//===- ShapeFloats.cpp - Sizes that are computed in floats ----------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Pads that keep a size ("same") are ceil(size / stride) in floats, and scales
// are quotients of sizes. If the sizes are constants, these values are, too: a
// known value is then a float attribute, rounded as the node would round it.
// Double has more than twice the bits of float: rounding twice gives the same
// result as rounding once.
//
//===----------------------------------------------------------------------===//

#include "ShapeFolding.h"

#include "llvm/ADT/StringSwitch.h"

#include <cmath>

using namespace mlir;

namespace mp {

static std::optional<double> getFloat(Size size) {
  auto attribute = dyn_cast<Attribute>(size);
  auto number = attribute ? dyn_cast<FloatAttr>(attribute) : FloatAttr();
  if (!number || !std::isfinite(number.getValueAsDouble()))
    return std::nullopt;
  return number.getValueAsDouble();
}

/// Null if the result cannot be used for sizes.
static Size makeFloat(double value, Type element) {
  if (element.isF32())
    value = static_cast<float>(value);
  if (!std::isfinite(value))
    return Size();
  return FloatAttr::get(element, value);
}

//===----------------------------------------------------------------------===//
// Cast
//===----------------------------------------------------------------------===//

static Size castToInteger(NodeLowering &node, double value, IntegerType type) {
  // The result is unknown for values that do not fit: it depends on the
  // machine.
  value = std::trunc(value);
  unsigned width = type.getWidth();
  if (width == 1)
    return node.e.size(value != 0);
  bool fits = type.isUnsignedInteger()
                  ? value >= 0 && value < std::ldexp(1.0, width - 1)
                  : std::abs(value) < std::ldexp(1.0, width - 1);
  return fits ? node.e.size(static_cast<int64_t>(value)) : Size();
}

static Size castOne(NodeLowering &node, Size value, Type from, Type to) {
  if (isa<FloatType>(from)) {
    std::optional<double> number = getFloat(value);
    if (!number)
      return Size();
    if (auto type = dyn_cast<IntegerType>(to))
      return castToInteger(node, *number, type);
    return makeFloat(*number, to);
  }
  std::optional<int64_t> number = Emitter::getConstant(value);
  // Greater numbers are not exact in double.
  constexpr int64_t most = int64_t(1) << 53;
  if (!number || *number > most || *number < -most)
    return Size();
  return makeFloat(static_cast<double>(*number), to);
}

static Ints foldCast(NodeLowering &node) {
  const ShapeValue *data = node.getKnown(0);
  if (!data)
    return std::nullopt;
  ShapeValue result{{}, data->shape};
  for (Size value : data->values) {
    result.values.push_back(
        castOne(node, value, node.inElement(0), node.outElement()));
    if (!result.values.back())
      return std::nullopt;
  }
  return result;
}

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

using NumberFn = double (*)(ArrayRef<double>);

/// Operators of one operand and of two; min and max take any number.
static NumberFn getNumberFn(StringRef op) {
  using Numbers = ArrayRef<double>;
  return llvm::StringSwitch<NumberFn>(op)
      .Case("Abs", [](Numbers x) { return std::abs(x[0]); })
      .Case("Ceil", [](Numbers x) { return std::ceil(x[0]); })
      .Case("Floor", [](Numbers x) { return std::floor(x[0]); })
      .Case("Neg", [](Numbers x) { return -x[0]; })
      .Case("Reciprocal", [](Numbers x) { return 1 / x[0]; })
      .Case("Round", [](Numbers x) { return std::nearbyint(x[0]); })
      .Case("Sqrt", [](Numbers x) { return std::sqrt(x[0]); })
      .Case("Add", [](Numbers x) { return x[0] + x[1]; })
      .Case("Sub", [](Numbers x) { return x[0] - x[1]; })
      .Case("Mul", [](Numbers x) { return x[0] * x[1]; })
      .Case("Div", [](Numbers x) { return x[0] / x[1]; })
      .Case("Max", [](Numbers x) { return *llvm::max_element(x); })
      .Case("Min", [](Numbers x) { return *llvm::min_element(x); })
      .Default(nullptr);
}

static std::optional<unsigned> getArity(StringRef op) {
  return llvm::StringSwitch<std::optional<unsigned>>(op)
      .Cases({"Max", "Min"}, std::nullopt)
      .Cases({"Add", "Sub", "Mul", "Div"}, 2)
      .Default(1);
}

static Ints foldNumbers(NodeLowering &node, NumberFn fn) {
  SmallVector<const ShapeValue *> operands;
  for (unsigned index = 0; index < node.getNumOperands(); ++index) {
    operands.push_back(node.getKnown(index));
    if (node.inElement(index) != node.outElement())
      return std::nullopt;
  }
  auto shape = broadcastKnown(operands);
  if (!shape || operands.empty() ||
      getArity(node.getOpType()).value_or(operands.size()) != operands.size())
    return std::nullopt;
  ShapeValue result{{}, *shape};
  bool isWhole = forEachIndex(*shape, [&](ArrayRef<int64_t> indices) {
    SmallVector<double> numbers;
    for (const ShapeValue *operand : operands) {
      auto number =
          getFloat(operand->values[getPlace(indices, operand->shape)]);
      if (!number)
        return false;
      numbers.push_back(*number);
    }
    result.values.push_back(makeFloat(fn(numbers), node.outElement()));
    return bool(result.values.back());
  });
  return isWhole ? Ints(std::move(result)) : std::nullopt;
}

/// Clips by the bounds that are given.
static Ints foldClip(NodeLowering &node) {
  const ShapeValue *data = node.getKnown(0);
  if (!data || node.getVersion() < 11)
    return std::nullopt;
  ShapeValue result = *data;
  for (unsigned operand : {1, 2}) {
    if (!node.has(operand))
      continue;
    const ShapeValue *bound = node.getKnown(operand);
    auto limit = bound && bound->values.size() == 1
                     ? getFloat(bound->values.front())
                     : std::nullopt;
    if (!limit)
      return std::nullopt;
    for (Size &value : result.values) {
      auto number = getFloat(value);
      if (!number)
        return std::nullopt;
      value = makeFloat(operand == 1 ? std::max(*number, *limit)
                                     : std::min(*number, *limit),
                        node.outElement());
    }
  }
  return result;
}

bool isKnownFloat(Type element) {
  return element && (element.isF32() || element.isF64());
}

bool foldsFloats(NodeLowering &node) {
  return isKnownFloat(node.inElement(0)) || isKnownFloat(node.outElement());
}

Ints foldKnownFloats(NodeLowering &node) {
  StringRef op = node.getOpType();
  if (op == "Cast")
    return foldCast(node);
  // The other folds neither change the element type nor read integers.
  if (node.inElement(0) != node.outElement())
    return std::nullopt;
  if (FoldFn movement = findShapeMovement(op))
    return movement(node);
  if (op == "Clip")
    return foldClip(node);
  NumberFn fn = getNumberFn(op);
  return fn ? foldNumbers(node, fn) : std::nullopt;
}

} // namespace mp
