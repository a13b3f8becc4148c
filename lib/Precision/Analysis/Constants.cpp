//===- Constants.cpp - Constants in 16 bit --------------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Precision/Analysis/Constants.h"

#include "mp-opt/Dialect/MP/Attributes.h"
#include "mp-opt/Operators/OperatorTraits.h"
#include "mp-opt/Support/Rounding.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "llvm/Support/Format.h"

#include <cmath>

using namespace mlir;
using namespace mp::onnxir;

namespace mp {

bool isConstant(Operation *op) {
  if (op->getNumResults() != 1)
    return false;
  return isa<InitializerOp>(op) || isStandardOp(op, "Constant") ||
         isStandardOp(op, "ConstantOfShape");
}

//===----------------------------------------------------------------------===//
// Facts
//===----------------------------------------------------------------------===//

static ConstantFacts scanBytes(ArrayRef<char> bytes, const LowLimits &limits) {
  ConstantFacts facts;
  if (bytes.size() % sizeof(float))
    return facts;
  facts.isKnown = true;
  if (reinterpret_cast<uintptr_t>(bytes.data()) % alignof(float) == 0) {
    scanElements({reinterpret_cast<const float *>(bytes.data()),
                  bytes.size() / sizeof(float)},
                 limits, facts);
    return facts;
  }
  // Data in a file may have any alignment.
  float piece[4096];
  while (!bytes.empty()) {
    ArrayRef<char> head =
        bytes.take_front(std::min(bytes.size(), sizeof piece));
    bytes = bytes.drop_front(head.size());
    memcpy(piece, head.data(), head.size());
    scanElements({piece, head.size() / sizeof(float)}, limits, facts);
  }
  return facts;
}

static std::array<int64_t *, 7> getCounts(ConstantFacts &facts) {
  return {&facts.elements,  &facts.infinities, &facts.nans,       &facts.zeros,
          &facts.overflows, &facts.toZero,     &facts.toSubnormal};
}

static ConstantFacts scanAttribute(Attribute value, const LowLimits &limits) {
  ConstantFacts facts;
  if (auto number = dyn_cast_or_null<FloatAttr>(value)) {
    scanElements(number.getValue().convertToFloat(), limits, facts);
  } else if (auto numbers = dyn_cast_or_null<DenseF32ArrayAttr>(value)) {
    scanElements(numbers.asArrayRef(), limits, facts);
  } else if (auto elements = dyn_cast_or_null<DenseElementsAttr>(value)) {
    if (!elements.getElementType().isF32())
      return facts;
    facts = scanBytes(elements.getRawData(), limits);
    if (elements.isSplat())
      for (int64_t *count : getCounts(facts))
        *count *= elements.getNumElements();
  } else if (auto elements =
                 dyn_cast_or_null<DenseResourceElementsAttr>(value)) {
    AsmResourceBlob *blob = elements.getRawHandle().getBlob();
    if (blob && elements.getElementType().isF32())
      return scanBytes(blob->getData(), limits);
  }
  return facts;
}

/// The RMS of the changes by rounding over that of the elements.
static double measureRounding(Attribute value, ElementKind low) {
  ArrayRef<char> bytes;
  if (auto numbers = dyn_cast<DenseF32ArrayAttr>(value))
    bytes = numbers.getRawData();
  else if (auto elements = dyn_cast<DenseElementsAttr>(value))
    bytes = elements.getRawData();
  else if (auto elements = dyn_cast<DenseResourceElementsAttr>(value))
    bytes = elements.getRawHandle().getBlob()->getData();
  double lost = 0, all = 0;
  for (; bytes.size() >= sizeof(float);
       bytes = bytes.drop_front(sizeof(float))) {
    float number;
    memcpy(&number, bytes.data(), sizeof number);
    if (!std::isfinite(number))
      continue;
    float rounded = low == ElementKind::Float16
                        ? widenFloat16(roundToFloat16(number))
                        : widenBFloat16(roundToBFloat16(number));
    // Normal numbers change little.
    if (std::fabs(number) < LowLimits(low).minNormal)
      lost += std::pow(double(number) - rounded, 2);
    all += std::pow(double(number), 2);
  }
  return all > 0 ? std::sqrt(lost / all) : 0;
}

/// A second pass is needed only if many elements are not normal numbers.
static void addRounding(Attribute value, ElementKind low,
                        ConstantFacts &facts) {
  double tiny = double(facts.toZero) + double(facts.toSubnormal);
  double most = std::sqrt(tiny) * LowLimits(low).underflow;
  if (facts.elements > 1 && most > 0x1p-10 * facts.getMaxMagnitude())
    facts.roundingError = float(measureRounding(value, low));
}

Attribute getHeldValue(Operation *constant) {
  Attribute value;
  if (auto initializer = dyn_cast<InitializerOp>(constant))
    return initializer.getValueAttr();
  for (StringRef name : {"value", "value_float", "value_floats"})
    if (!value)
      value = constant->getAttr(name);
  if (auto tensor = dyn_cast_or_null<TensorAttr>(value))
    return tensor.getValue();
  return value;
}

/// A ConstantOfShape without a value holds zeros.
static bool isZeros(Operation *constant) {
  return isStandardOp(constant, "ConstantOfShape") &&
         !constant->hasAttr("value");
}

/// Encodes `mp.range`: the 16-bit type that the counts are for, then the facts.
static Attribute encodeFacts(MLIRContext *context, ElementKind low,
                             const ConstantFacts &facts) {
  return DenseF64ArrayAttr::get(
      context,
      {double(low), facts.lo, facts.hi, double(facts.elements),
       double(facts.infinities), double(facts.nans), double(facts.zeros),
       double(facts.overflows), double(facts.toZero), double(facts.toSubnormal),
       facts.largestToZero, facts.roundingError});
}

static std::optional<ConstantFacts> decodeFacts(Operation *constant,
                                                ElementKind low) {
  auto array = constant->getAttrOfType<DenseF64ArrayAttr>(mark::range);
  if (!array || array.size() < 11 || array[0] != double(low))
    return std::nullopt;
  ConstantFacts facts;
  facts.isKnown = true;
  facts.lo = float(array[1]);
  facts.hi = float(array[2]);
  for (auto [index, count] : llvm::enumerate(getCounts(facts)))
    *count = int64_t(array[3 + index]);
  facts.largestToZero = float(array[10]);
  facts.roundingError = array.size() > 11 ? float(array[11]) : 0;
  return facts;
}

const ConstantFacts &ConstantRange::getFacts(Operation *constant) {
  auto [it, isNew] = known.try_emplace(constant);
  if (!isNew)
    return it->second;
  if (std::optional<ConstantFacts> facts = decodeFacts(constant, low))
    return it->second = *facts;
  if (isZeros(constant)) {
    scanElements(0.0f, limits, it->second);
    return it->second;
  }
  it->second = scanAttribute(getHeldValue(constant), limits);
  if (it->second.isKnown)
    addRounding(getHeldValue(constant), low, it->second);
  if (it->second.isKnown)
    constant->setAttr(mark::range,
                      encodeFacts(constant->getContext(), low, it->second));
  return it->second;
}

std::optional<double> getClamp(Operation *constant) {
  auto clamp = constant->getAttrOfType<FloatAttr>(mark::clamp);
  if (!clamp)
    return std::nullopt;
  return clamp.getValueAsDouble();
}

/// True if a factor, a divisor or an operand of a product reads the value,
/// directly or after data movement: the value's relative error is then that of
/// the result. If the value is only added to others, or placed next to them,
/// its loss is tiny.
static bool isFactor(Value value) {
  constexpr unsigned maxVisited = 64;
  SmallVector<Value> worklist = {value};
  for (unsigned count = 0; !worklist.empty(); ++count) {
    if (count == maxVisited)
      return true;
    Value next = worklist.pop_back_val();
    auto type = dyn_cast<RankedTensorType>(next.getType());
    // A vector is the bias of a product.
    bool isBias = type && type.getRank() == 1;
    for (Operation *user : next.getUsers()) {
      const OperatorTraits &traits = getOperatorTraits(user);
      if ((traits.contracts() && !isBias) || traits.math == OperatorMath::Mul ||
          traits.math == OperatorMath::Div)
        return true;
      if (traits.movesData() || traits.math == OperatorMath::Cast)
        llvm::append_range(worklist, user->getResults());
    }
  }
  return false;
}

bool ConstantRange::fits(Operation *constant) {
  const ConstantFacts &facts = getFacts(constant);
  if (!facts.isKnown || facts.vanishes())
    return false;
  if (facts.losesDigits() && isFactor(constant->getResult(0)))
    return false;
  return !facts.overflows || getClamp(constant);
}

std::string ConstantRange::explain(Operation *constant) {
  if (fits(constant))
    return {};
  const ConstantFacts &facts = getFacts(constant);
  std::string name =
      "constant '" + getValueName(constant->getResult(0)).str() + "'";
  if (!facts.isKnown)
    return name + " cannot be read";
  if (facts.overflows)
    return name + " holds " +
           formatNumber(-facts.lo > facts.hi ? facts.lo : facts.hi) + ", " +
           limits.name.str() + " ends at " + formatNumber(limits.max);
  if (facts.vanishes())
    return name + " (" + formatNumber(facts.largestToZero) + ") is zero in " +
           limits.name.str();
  return name + " changes by " + formatNumber(facts.roundingError) +
         " of its RMS in " + limits.name.str() + ", more than 2^-10";
}

std::string formatNumber(double number) {
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format("%g", number);
  return text;
}

//===----------------------------------------------------------------------===//
// Conversion
//===----------------------------------------------------------------------===//

static APFloat clampFinite(APFloat element, double clamp) {
  if (!element.isFinite() || std::fabs(element.convertToDouble()) <= clamp)
    return element;
  APFloat bound(element.isNegative() ? -clamp : clamp);
  bool losesInfo;
  bound.convert(element.getSemantics(), APFloat::rmTowardZero, &losesInfo);
  return bound;
}

TypedAttr convertElements(TypedAttr value, Type elementType,
                          std::optional<double> clamp) {
  auto type = dyn_cast<ShapedType>(value.getType());
  if (!type || !isa<FloatType>(elementType))
    return {};
  if (auto dense = dyn_cast<DenseFPElementsAttr>(value)) {
    const llvm::fltSemantics &semantics =
        cast<FloatType>(elementType).getFloatSemantics();
    return dense.mapValues(elementType, [&](const APFloat &element) {
      APFloat converted = clamp ? clampFinite(element, *clamp) : element;
      bool losesInfo;
      converted.convert(semantics, APFloat::rmNearestTiesToEven, &losesInfo);
      return converted.bitcastToAPInt();
    });
  }
  if (isa<DenseResourceElementsAttr, CastElementsAttr>(value)) {
    Builder builder(value.getContext());
    return CastElementsAttr::get(value.getContext(), value,
                                 clamp ? builder.getF64FloatAttr(*clamp)
                                       : FloatAttr(),
                                 type.clone(elementType));
  }
  return {};
}

/// The value attribute of Constant and ConstantOfShape may carry the fields
/// of its TensorProto.
static Attribute convertAttribute(Attribute value, Type elementType,
                                  std::optional<double> clamp) {
  if (auto tensor = dyn_cast<TensorAttr>(value)) {
    TypedAttr inner = tensor.getValue() ? convertElements(tensor.getValue(),
                                                          elementType, clamp)
                                        : TypedAttr();
    return inner
               ? TensorAttr::get(value.getContext(), tensor.getFields(), inner)
               : Attribute();
  }
  if (auto typed = dyn_cast<TypedAttr>(value); typed && !isa<FloatAttr>(value))
    return convertElements(typed, elementType, clamp);
  return {};
}

/// The value of Constant or ConstantOfShape, as a tensor.
static Attribute getAsTensor(Operation *constant, Type floatType) {
  if (Attribute value = constant->getAttr("value"))
    return value;
  Builder builder(constant->getContext());
  if (auto number = constant->getAttrOfType<FloatAttr>("value_float"))
    return DenseElementsAttr::get(RankedTensorType::get({}, floatType),
                                  number.getValue());
  if (auto numbers = constant->getAttrOfType<DenseF32ArrayAttr>("value_floats"))
    return DenseElementsAttr::get(
        RankedTensorType::get({numbers.size()}, floatType),
        numbers.asArrayRef());
  if (isStandardOp(constant, "ConstantOfShape"))
    return DenseElementsAttr::get(RankedTensorType::get({1}, floatType), 0.0f);
  return {};
}

bool convertConstant(Operation *constant, Type elementType) {
  OpResult result = constant->getResult(0);
  std::optional<double> clamp = getClamp(constant);
  Type type = withElementType(result.getType(), elementType);
  if (auto initializer = dyn_cast<InitializerOp>(constant)) {
    if (initializer.getOverridable() || initializer.getSparse() ||
        !initializer.getValueAttr())
      return false;
    TypedAttr value =
        convertElements(initializer.getValueAttr(), elementType, clamp);
    if (!value)
      return false;
    initializer.setValueAttr(value);
    result.setType(type);
    return true;
  }
  Attribute held =
      getAsTensor(constant, getTensorElementType(result.getType()));
  Attribute value =
      held ? convertAttribute(held, elementType, clamp) : Attribute();
  if (!value)
    return false;
  for (StringRef name : {"value_float", "value_floats"})
    constant->removeAttr(name);
  // The order of a single attribute is trivial.
  constant->removeAttr(attr::order);
  constant->setAttr("value", value);
  result.setType(type);
  return true;
}

} // namespace mp
