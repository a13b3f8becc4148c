//===- QuantizedPairs.cpp - QuantizeLinear, DequantizeLinear --------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Precision/Analysis/QuantizedPairs.h"

#include "mp-opt/Dialect/MP/Attributes.h"
#include "mp-opt/Operators/NodeView.h"
#include "mp-opt/Operators/OperatorTraits.h"
#include "mp-opt/Support/Rounding.h"

#include "mlir/IR/DialectResourceBlobManager.h"

#include <cmath>

using namespace mlir;
using namespace mp::onnxir;

namespace mp {

//===----------------------------------------------------------------------===//
// The nodes
//===----------------------------------------------------------------------===//

static bool isPairNode(Operation *op, StringRef opType) {
  return op && (isStandardOp(op, opType) || isMicrosoftOp(op, opType)) &&
         op->getNumOperands() > 1 && op->getNumResults() == 1;
}

bool isQuantizer(Operation *op) { return isPairNode(op, "QuantizeLinear"); }

bool isDequantizer(Operation *op) { return isPairNode(op, "DequantizeLinear"); }

bool canMoveDequantized(Operation *op) {
  return isNode(op) && getOperatorTraits(op).movesData() &&
         op->getNumResults() == 1 && op->getNumOperands() > 0 &&
         op->getNumRegions() == 0 && isFloatTensor(op->getOperand(0).getType());
}

bool isDequantized(Value value) {
  Operation *source = value.getDefiningOp();
  while (source && canMoveDequantized(source))
    source = source->getOperand(0).getDefiningOp();
  return source && isDequantizer(source);
}

Value getQuantizationScale(Operation *op) {
  return hasOperand(op, 1) ? op->getOperand(1) : Value();
}

bool isQuantizationParameter(OpOperand &use) {
  Operation *op = use.getOwner();
  return use.getOperandNumber() > 0 && (isQuantizer(op) || isDequantizer(op));
}

Operation *findQuantizer(Operation *dequantizer) {
  constexpr unsigned maxSteps = 64;
  Operation *source = dequantizer->getOperand(0).getDefiningOp();
  for (unsigned step = 0; source && step < maxSteps; ++step) {
    if (isQuantizer(source))
      return source;
    const OperatorTraits &traits = getOperatorTraits(source);
    bool passesData = traits.movesData() ||
                      traits.kind == OperatorKind::Combination ||
                      traits.kind == OperatorKind::Window;
    if (!isNode(source) || !passesData || source->getNumOperands() == 0)
      return nullptr;
    source = source->getOperand(0).getDefiningOp();
  }
  return nullptr;
}

bool sharesScaleType(Operation *op) {
  const OpSchema *schema = getSchema(op);
  const FormalParameter *scale = schema ? schema->getInput(1) : nullptr;
  const FormalParameter *floats = !schema           ? nullptr
                                  : isQuantizer(op) ? schema->getInput(0)
                                                    : schema->getOutput(0);
  return !scale || !floats || scale->typeVariable == floats->typeVariable;
}

bool readsInt32(Operation *dequantizer) {
  Type element = getTensorElementType(dequantizer->getOperand(0).getType());
  return element && element.isInteger(32);
}

//===----------------------------------------------------------------------===//
// Elements of constants
//===----------------------------------------------------------------------===//

Operation *getFixedConstant(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op || !isConstant(op) || isStandardOp(op, "ConstantOfShape"))
    return nullptr;
  auto initializer = dyn_cast<InitializerOp>(op);
  bool isReplaceable =
      initializer && (initializer.getOverridable() || initializer.getSparse());
  return isReplaceable ? nullptr : op;
}

/// The elements of a constant of T, which are as wide; absent if they have
/// another form.
template <typename T>
static std::optional<std::vector<T>> readElements(Operation *constant) {
  Attribute value = getHeldValue(constant);
  std::vector<T> elements;
  auto takeBytes = [&](ArrayRef<char> bytes) {
    elements.resize(bytes.size() / sizeof(T));
    if (!elements.empty())
      memcpy(elements.data(), bytes.data(), elements.size() * sizeof(T));
  };
  if (auto number = dyn_cast_or_null<FloatAttr>(value)) {
    elements.push_back(T(number.getValueAsDouble()));
  } else if (auto list = dyn_cast_or_null<DenseF32ArrayAttr>(value)) {
    elements.assign(list.asArrayRef().begin(), list.asArrayRef().end());
  } else if (auto dense = dyn_cast_or_null<DenseElementsAttr>(value)) {
    if (dense.getElementType().getIntOrFloatBitWidth() != 8 * sizeof(T))
      return std::nullopt;
    takeBytes(dense.getRawData());
    if (dense.isSplat() && elements.size() == 1)
      elements.resize(dense.getNumElements(), elements.front());
  } else if (auto stored = dyn_cast_or_null<DenseResourceElementsAttr>(value)) {
    AsmResourceBlob *blob = stored.getRawHandle().getBlob();
    if (!blob ||
        stored.getElementType().getIntOrFloatBitWidth() != 8 * sizeof(T))
      return std::nullopt;
    takeBytes(blob->getData());
  } else {
    return std::nullopt;
  }
  return elements;
}

std::optional<std::vector<float>> readFloats(Operation *constant) {
  return isF32Tensor(constant->getResult(0).getType())
             ? readElements<float>(constant)
             : std::nullopt;
}

static bool hasZeroPointZero(Operation *dequantizer) {
  if (!hasOperand(dequantizer, 2))
    return true;
  Operation *zero = getFixedConstant(dequantizer->getOperand(2));
  auto elements = zero ? readElements<int32_t>(zero) : std::nullopt;
  return elements &&
         llvm::all_of(*elements, [](int32_t value) { return value == 0; });
}

std::optional<std::vector<float>> dequantizeInt32(Operation *dequantizer) {
  if (!isDequantizer(dequantizer) || !readsInt32(dequantizer) ||
      !hasZeroPointZero(dequantizer))
    return std::nullopt;
  Value data = dequantizer->getOperand(0);
  Value scale = getQuantizationScale(dequantizer);
  auto type = dyn_cast<RankedTensorType>(data.getType());
  Operation *held = getFixedConstant(data);
  Operation *factor = scale ? getFixedConstant(scale) : nullptr;
  if (!held || !factor || !type || !type.hasStaticShape() ||
      !isF32Tensor(scale.getType()))
    return std::nullopt;
  auto numbers = readElements<int32_t>(held);
  auto factors = readElements<float>(factor);
  if (!numbers || !factors || int64_t(numbers->size()) != type.getNumElements())
    return std::nullopt;
  int64_t inner = 1, count = int64_t(factors->size());
  if (count != 1) {
    auto axis = NodeView(dequantizer).axisIn(type.getRank());
    // The schema's default is the second axis; a vector has only one.
    if (!axis && type.getRank() == 1)
      axis = 0;
    auto scaleType = dyn_cast<RankedTensorType>(scale.getType());
    if (!axis || !scaleType || scaleType.getRank() != 1 ||
        type.getDimSize(*axis) != count)
      return std::nullopt;
    for (int64_t i = *axis + 1; i < type.getRank(); ++i)
      inner *= type.getDimSize(i);
  }
  std::vector<float> results;
  for (auto [index, number] : llvm::enumerate(*numbers))
    results.push_back(
        float(double(number) * (*factors)[int64_t(index) / inner % count]));
  return results;
}

//===----------------------------------------------------------------------===//
// New nodes
//===----------------------------------------------------------------------===//

Value createDequantized(Operation *dequantizer, UniqueNames &names) {
  Value value = dequantizer->getResult(0);
  auto results = dequantizeInt32(dequantizer);
  auto shape = dyn_cast<RankedTensorType>(dequantizer->getOperand(0).getType());
  if (!results || !shape)
    return {};
  // The form of the constant is that of the scale.
  Operation *scale = getQuantizationScale(dequantizer).getDefiningOp();
  OpBuilder after(scale);
  after.setInsertionPointAfter(scale);
  auto elements = DenseElementsAttr::get(
      RankedTensorType::get(shape.getShape(), after.getF32Type()),
      ArrayRef<float>(*results));
  std::string base = getValueName(value).str() + "_constant";
  StringRef name = names.getValueName(base);
  if (isa<InitializerOp>(scale))
    return InitializerOp::create(after, scale->getLoc(), elements.getType(),
                                 after.getStringAttr(name), elements,
                                 DictionaryAttr(), UnitAttr(), UnitAttr());
  Operation *made = after.clone(*scale);
  for (StringRef old :
       {StringRef("value_float"), StringRef("value_floats"),
        StringRef(mark::range), StringRef(mark::clamp), StringRef(attr::order)})
    made->removeAttr(old);
  made->setAttr("value", elements);
  made->getResult(0).setType(elements.getType());
  setValueName(made->getResult(0), name);
  if (made->hasAttr(attr::name))
    made->setAttr(attr::name, after.getStringAttr(names.getNodeName(base)));
  return made->getResult(0);
}

Operation *copyInType(Operation *node, Type elementType, UniqueNames &names) {
  OpBuilder after(node);
  after.setInsertionPointAfter(node);
  Operation *copy = after.clone(*node);
  std::string suffix = elementType.isBF16() ? "_bf16" : "_fp16";
  OpResult result = copy->getResult(0);
  std::string base = getValueName(node->getResult(0)).str();
  setValueName(result, names.getValueName(base + suffix));
  if (StringRef name = getNodeName(node); !name.empty())
    copy->setAttr(attr::name,
                  after.getStringAttr(names.getNodeName(name + suffix)));
  result.setType(withElementType(result.getType(), elementType));
  return copy;
}

//===----------------------------------------------------------------------===//
// QuantizationScales
//===----------------------------------------------------------------------===//

/// True if `value` is normal in the type, zero, or exact.
static bool keepsDigits(float value, const LowLimits &limits) {
  if (std::fabs(value) >= limits.minNormal || value == 0)
    return std::fabs(value) < limits.overflow;
  // Numbers below the normal ones of bf16 do not occur as scales.
  return widenFloat16(roundToFloat16(value)) == value;
}

std::string QuantizationScales::getConstantObstacle(Operation *constant,
                                                    bool isBlocked) {
  const ConstantFacts &facts = range.getFacts(constant);
  std::string name = limits.name.str();
  if (!facts.isKnown)
    return "scale '{0}' cannot be read";
  if (facts.overflows)
    return "scale '{0}' is out of range of " + name;
  if (!facts.toZero && !facts.toSubnormal)
    return {};
  // Small blocks among many add little to a sum.
  if (isBlocked)
    return facts.fits() ? "" : "scale '{0}' is subnormal or zero in " + name;
  auto elements = readElements<float>(constant);
  if (elements && llvm::all_of(*elements, [&](float value) {
        return keepsDigits(value, limits);
      }))
    return {};
  return "scale '{0}' is " + std::string(facts.toZero ? "zero" : "subnormal") +
         " in " + name;
}

/// The least magnitude of a quantized value that is not zero.
static double getMinStep(Type element) {
  if (isa<IntegerType>(element))
    return 1;
  if (auto type = dyn_cast<FloatType>(element)) {
    const llvm::fltSemantics &semantics = type.getFloatSemantics();
    return APFloat::getSmallest(semantics).convertToDouble();
  }
  return 0;
}

/// A scale that is a quantized value itself.
std::string QuantizationScales::getNestedObstacle(Operation *dequantizer) {
  Value scale = getQuantizationScale(dequantizer);
  Operation *held = scale ? getFixedConstant(scale) : nullptr;
  auto elements = held ? readElements<float>(held) : std::nullopt;
  Type element = getTensorElementType(dequantizer->getOperand(0).getType());
  if (!elements || !element)
    return "scale '{0}' is not known";
  double step = getMinStep(element);
  for (float value : *elements)
    if (value != 0 && std::fabs(value) * step < limits.minNormal)
      return "scale '{0}' may be subnormal in " + limits.name.str();
  return getRangeObstacle(dequantizer);
}

std::string QuantizationScales::getObstacle(Operation *op) {
  Value scale = getQuantizationScale(op);
  if (!scale)
    return {};
  Operation *source = scale.getDefiningOp();
  if (isDequantizer(source))
    return getNestedObstacle(source);
  if (Operation *constant = getFixedConstant(scale)) {
    auto type = dyn_cast<RankedTensorType>(scale.getType());
    return getConstantObstacle(constant, !type || type.getRank() > 1);
  }
  return "scale '{0}' is not a constant";
}

/// The greatest magnitude of a quantized value after its zero point is
/// subtracted.
static double getMaxValue(Type element) {
  if (auto type = dyn_cast<IntegerType>(element))
    return std::ldexp(1.0, int(type.getWidth())) - 1;
  if (auto type = dyn_cast<FloatType>(element)) {
    const llvm::fltSemantics &semantics = type.getFloatSemantics();
    return APFloat::getLargest(semantics).convertToDouble();
  }
  return 0;
}

std::string QuantizationScales::getRangeObstacle(Operation *dequantizer) {
  Value scale = getQuantizationScale(dequantizer);
  Operation *constant = scale ? getFixedConstant(scale) : nullptr;
  Type element = getTensorElementType(dequantizer->getOperand(0).getType());
  if (low != ElementKind::Float16 || !constant || !element ||
      readsInt32(dequantizer))
    return {};
  double greatest = getMaxValue(element);
  // A signed type with no zero point has half the range.
  auto type = dyn_cast<IntegerType>(element);
  if (type && !type.isUnsigned() && !hasOperand(dequantizer, 2))
    greatest = (greatest + 1) / 2;
  const ConstantFacts &facts = range.getFacts(constant);
  if (!facts.isKnown || greatest * facts.getMaxMagnitude() < limits.overflow)
    return {};
  return "values of scale '{0}' are out of range of " + limits.name.str();
}

} // namespace mp
