//===- RangeAnalysis.cpp - Intervals of values ----------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Precision/Analysis/RangeAnalysis.h"

#include "mp-opt/Dialect/MP/Attributes.h"

#include "mp-opt/Support/Rounding.h"

#include "mlir/IR/DialectResourceBlobManager.h"

using namespace mlir;
using namespace mp::onnxir;

namespace mp {

//===----------------------------------------------------------------------===//
// Interval
//===----------------------------------------------------------------------===//

Interval Interval::within(double lo, double hi, bool isInteger) {
  Interval range;
  if (!std::isnan(lo))
    range.lo = lo;
  if (!std::isnan(hi))
    range.hi = hi;
  range.isInteger = isInteger;
  return range;
}

Interval Interval::exactly(double lo, double hi, bool isInteger) {
  Interval range = within(lo, hi, isInteger);
  range.minAtMost = range.lo;
  range.maxAtLeast = range.hi;
  return range;
}

double Interval::getReached() const {
  double reached = 0;
  if (std::isfinite(minAtMost))
    reached = std::max(reached, -minAtMost);
  if (std::isfinite(maxAtLeast))
    reached = std::max(reached, maxAtLeast);
  return reached;
}

Interval Interval::join(const Interval &other) const {
  Interval range = within(std::min(lo, other.lo), std::max(hi, other.hi),
                          isInteger && other.isInteger);
  range.minAtMost = std::min(minAtMost, other.minAtMost);
  range.maxAtLeast = std::max(maxAtLeast, other.maxAtLeast);
  return range;
}

Interval getRangeOfType(Type type) {
  auto integer = dyn_cast_or_null<IntegerType>(getTensorElementType(type));
  if (!integer || integer.getWidth() > 64)
    return {};
  if (integer.getWidth() == 1)
    return Interval::within(0, 1, true);
  double size = std::ldexp(1.0, integer.getWidth());
  return integer.isUnsigned() ? Interval::within(0, size - 1, true)
                              : Interval::within(-size / 2, size / 2 - 1, true);
}

/// The nearest number of a 16-bit type: rounding keeps the order of numbers.
static double roundTo(ElementKind kind, double number) {
  auto narrow = float(number);
  return kind == ElementKind::Float16
             ? double(widenFloat16(roundToFloat16(narrow)))
             : double(widenBFloat16(roundToBFloat16(narrow)));
}

/// Limits the range to the numbers of the element type. If the source may
/// overflow an integer type, only the limits of that type are known.
static Interval limitTo(Interval range, Type type) {
  Type element = getTensorElementType(type);
  if (!element)
    return {};
  if (isa<IntegerType>(element)) {
    Interval all = getRangeOfType(type);
    bool fits = range.isWithin(all.lo, all.hi);
    range.isInteger = true;
    return fits ? range : all;
  }
  double max = std::numeric_limits<double>::max();
  if (element.isF32()) {
    max = std::numeric_limits<float>::max();
  } else if (element.isF16() || element.isBF16()) {
    ElementKind kind = getElementKind(element);
    for (double *bound :
         {&range.lo, &range.hi, &range.minAtMost, &range.maxAtLeast})
      *bound = roundTo(kind, *bound);
    max = LowLimits(kind).max;
  } else if (!element.isF64()) {
    return range.withoutWitness();
  }
  if (range.lo < -max)
    range.lo = -std::numeric_limits<double>::infinity();
  if (range.hi > max)
    range.hi = std::numeric_limits<double>::infinity();
  if (range.minAtMost < -max)
    range.minAtMost = std::numeric_limits<double>::infinity();
  if (range.maxAtLeast > max)
    range.maxAtLeast = -std::numeric_limits<double>::infinity();
  return range;
}

//===----------------------------------------------------------------------===//
// Operands
//===----------------------------------------------------------------------===//

Interval OperandRanges::of(Value value) const {
  auto it = analysis.known.find(value);
  if (it != analysis.known.end())
    return it->second;
  missing.push_back(value);
  return {};
}

bool OperandRanges::has(unsigned index) const {
  return index < op->getNumOperands() &&
         !isa<NoneType>(op->getOperand(index).getType());
}

//===----------------------------------------------------------------------===//
// Constants
//===----------------------------------------------------------------------===//

/// The range of `values`, not counting NaNs.
template <typename Values, typename Get>
static Interval spanElements(const Values &values, bool isInteger, Get get) {
  double lo = std::numeric_limits<double>::infinity(), hi = -lo;
  for (const auto &value : values) {
    double number = get(value);
    lo = std::min(lo, number);
    hi = std::max(hi, number);
  }
  return lo <= hi ? Interval::exactly(lo, hi, isInteger) : Interval();
}

/// The range of small constants that are not fp32.
static Interval readSmall(Attribute value) {
  if (auto number = dyn_cast_or_null<IntegerAttr>(value))
    return Interval::exactly(double(number.getInt()), double(number.getInt()),
                             true);
  if (auto numbers = dyn_cast_or_null<DenseI64ArrayAttr>(value))
    return spanElements(numbers.asArrayRef(), true,
                        [](int64_t number) { return double(number); });
  auto dense = dyn_cast_or_null<DenseElementsAttr>(value);
  if (!dense)
    return {};
  // Boolean masks can be large, and tell little.
  constexpr int64_t maxElements = 4096;
  if (!dense.isSplat() && dense.getNumElements() > maxElements)
    return getRangeOfType(dense.getType());
  if (auto integer = dyn_cast<IntegerType>(dense.getElementType())) {
    bool isUnsigned = integer.isUnsigned() || integer.getWidth() == 1;
    return spanElements(dense.getValues<APInt>(), true, [&](const APInt &item) {
      return isUnsigned ? double(item.getZExtValue())
                        : double(item.getSExtValue());
    });
  }
  if (dense.getElementType().isF64())
    return spanElements(dense.getValues<double>(), false,
                        [](double item) { return item; });
  return {};
}

/// The range of a constant of 16 bit, of any size.
static Interval readLow(Attribute value, ElementKind kind) {
  ArrayRef<char> bytes;
  if (auto dense = dyn_cast_or_null<DenseElementsAttr>(value))
    bytes = dense.getRawData();
  else if (auto resource = dyn_cast_or_null<DenseResourceElementsAttr>(value))
    if (AsmResourceBlob *blob = resource.getRawHandle().getBlob())
      bytes = blob->getData();
  LowBounds bounds = scanLowElements(bytes, kind);
  if (bounds.lo > bounds.hi)
    return {};
  Interval range = Interval::exactly(bounds.lo, bounds.hi);
  range.isInteger =
      bounds.lo == bounds.hi && std::floor(bounds.lo) == bounds.lo;
  if (bounds.hasSpecials) {
    range.lo = -std::numeric_limits<double>::infinity();
    range.hi = std::numeric_limits<double>::infinity();
    range.isInteger = false;
  }
  return range;
}

Interval RangeAnalysis::getConstant(Operation *constant) {
  Type element = getTensorElementType(constant->getResult(0).getType());
  if (!element)
    return {};
  if (element.isF16() || element.isBF16())
    return readLow(getHeldValue(constant), getElementKind(element));
  if (!element.isF32()) {
    Attribute held = getHeldValue(constant);
    for (StringRef name : {"value_int", "value_ints"})
      if (!held)
        held = constant->getAttr(name);
    return readSmall(held);
  }
  const ConstantFacts &facts = constants.getFacts(constant);
  if (!facts.isKnown || facts.lo > facts.hi)
    return {};
  double bound =
      getClamp(constant).value_or(std::numeric_limits<double>::infinity());
  auto clamp = [&](double number) {
    return std::max(-bound, std::min(bound, number));
  };
  bool isInteger = facts.lo == facts.hi && std::floor(facts.lo) == facts.lo;
  Interval range =
      Interval::exactly(clamp(facts.lo), clamp(facts.hi), isInteger);
  if (facts.infinities) {
    range.lo = -std::numeric_limits<double>::infinity();
    range.hi = std::numeric_limits<double>::infinity();
    range.isInteger = false;
  }
  return range;
}

//===----------------------------------------------------------------------===//
// RangeAnalysis
//===----------------------------------------------------------------------===//

/// The range that the user states for an input (mp-set-input-ranges).
static Interval getStatedRange(BlockArgument argument) {
  Operation *graph = argument.getOwner()->getParentOp();
  auto stated = graph ? graph->getAttrOfType<DictionaryAttr>(mark::inputRanges)
                      : DictionaryAttr();
  StringRef name = stated ? getValueName(argument) : StringRef();
  auto bounds = name.empty() ? DenseF64ArrayAttr()
                             : stated.getAs<DenseF64ArrayAttr>(name);
  if (!bounds || bounds.size() != 2)
    return getRangeOfType(argument.getType());
  return Interval::within(bounds[0], bounds[1]);
}

Interval RangeAnalysis::compute(Value value, SmallVectorImpl<Value> &missing) {
  Operation *op = value.getDefiningOp();
  if (!op)
    return getStatedRange(cast<BlockArgument>(value));
  if (isConstant(op))
    return limitTo(getConstant(op), value.getType());
  auto [it, isNew] = rules.try_emplace(op->getName().getAsOpaquePointer());
  if (isNew && isNode(op) && getDomain(op).empty())
    it->second = getRangeRule(getOpType(op));
  if (!it->second)
    return getRangeOfType(value.getType());
  unsigned result = cast<OpResult>(value).getResultNumber();
  Interval range = it->second(OperandRanges(op, result, *this, missing));
  return limitTo(range, value.getType());
}

const Interval &RangeAnalysis::get(Value value) {
  SmallVector<Value> worklist = {value}, missing;
  while (!worklist.empty()) {
    Value next = worklist.back();
    if (known.contains(next)) {
      worklist.pop_back();
      continue;
    }
    missing.clear();
    Interval range = compute(next, missing);
    if (!missing.empty()) {
      worklist.append(missing.begin(), missing.end());
      continue;
    }
    known[next] = range;
    worklist.pop_back();
  }
  return known[value];
}

} // namespace mp
