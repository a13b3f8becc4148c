//===- Constants.cpp - Constants in 16 bit --------------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Precision/Constants.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectResourceBlobManager.h"

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
// Range
//===----------------------------------------------------------------------===//

namespace {

/// What the elements read so far would become.
class RangeScan {
public:
  // Magnitudes as bits order like numbers. Ties round to even: the overflow
  // bound rounds up, the underflow bound rounds to zero.
  explicit RangeScan(ElementKind low)
      : overflow(low == ElementKind::Float16 ? 0x477ff000     // 65520
                                             : 0x7f7f8000),   // 2^128 - 2^119
        underflow(low == ElementKind::Float16 ? 0x33000000    // 2^-25
                                              : 0x00008000) { // 2^-134
  }

  void add(ArrayRef<float> values) {
    const uint32_t infinity = 0x7f800000;
    uint32_t over = 0, any = 0, kept = 0;
    // Without a branch, so that it runs at the speed of memory.
    for (float value : values) {
      uint32_t bits;
      memcpy(&bits, &value, sizeof bits);
      bits &= 0x7fffffff;
      over |= bits - overflow < infinity - overflow;
      any |= bits;
      kept |= bits > underflow;
    }
    overflows |= over;
    nonzero |= any;
    survives |= kept;
  }

  bool fits() const { return !overflows && (!nonzero || survives); }

private:
  const uint32_t overflow, underflow;
  uint32_t overflows = 0, nonzero = 0, survives = 0;
};

} // namespace

bool fitsInto(ArrayRef<float> values, ElementKind low) {
  RangeScan scan(low);
  scan.add(values);
  return scan.fits();
}

static bool fitsIntoBytes(ArrayRef<char> bytes, ElementKind low) {
  if (bytes.size() % sizeof(float))
    return false;
  RangeScan scan(low);
  if (reinterpret_cast<uintptr_t>(bytes.data()) % alignof(float) == 0) {
    scan.add({reinterpret_cast<const float *>(bytes.data()),
              bytes.size() / sizeof(float)});
    return scan.fits();
  }
  // In a file, data may lie at any offset.
  float piece[1024];
  while (!bytes.empty()) {
    ArrayRef<char> head =
        bytes.take_front(std::min(bytes.size(), sizeof piece));
    bytes = bytes.drop_front(head.size());
    memcpy(piece, head.data(), head.size());
    scan.add({piece, head.size() / sizeof(float)});
  }
  return scan.fits();
}

static bool fitsInto(Attribute value, ElementKind low) {
  if (auto tensor = dyn_cast_or_null<TensorAttr>(value))
    value = tensor.getValue();
  if (auto number = dyn_cast_or_null<FloatAttr>(value))
    return fitsInto(number.getValue().convertToFloat(), low);
  if (auto numbers = dyn_cast_or_null<DenseF32ArrayAttr>(value))
    return fitsInto(numbers.asArrayRef(), low);
  if (auto elements = dyn_cast_or_null<DenseElementsAttr>(value))
    return elements.getElementType().isF32() &&
           fitsIntoBytes(elements.getRawData(), low);
  if (auto elements = dyn_cast_or_null<DenseResourceElementsAttr>(value)) {
    AsmResourceBlob *blob = elements.getRawHandle().getBlob();
    return blob && elements.getElementType().isF32() &&
           fitsIntoBytes(blob->getData(), low);
  }
  return false;
}

/// What the constant holds; null for a ConstantOfShape of zeros.
static Attribute getHeldValue(Operation *constant) {
  if (auto initializer = dyn_cast<InitializerOp>(constant))
    return initializer.getValueAttr();
  for (StringRef name : {"value", "value_float", "value_floats"})
    if (Attribute value = constant->getAttr(name))
      return value;
  return {};
}

bool ConstantRange::fits(Operation *constant) {
  auto [it, isNew] = known.try_emplace(constant, false);
  if (isNew) {
    Attribute value = getHeldValue(constant);
    bool isZeros = !value && isStandardOp(constant, "ConstantOfShape");
    it->second = isZeros || fitsInto(value, low);
  }
  return it->second;
}

//===----------------------------------------------------------------------===//
// Conversion
//===----------------------------------------------------------------------===//

TypedAttr convertElements(TypedAttr value, Type elementType) {
  auto type = dyn_cast<ShapedType>(value.getType());
  if (!type || !isa<FloatType>(elementType))
    return {};
  if (auto dense = dyn_cast<DenseFPElementsAttr>(value)) {
    const llvm::fltSemantics &semantics =
        cast<FloatType>(elementType).getFloatSemantics();
    return dense.mapValues(elementType, [&](const APFloat &element) {
      APFloat converted = element;
      bool losesInfo;
      converted.convert(semantics, APFloat::rmNearestTiesToEven, &losesInfo);
      return converted.bitcastToAPInt();
    });
  }
  if (isa<DenseResourceElementsAttr, CastElementsAttr>(value))
    return CastElementsAttr::get(value.getContext(), value,
                                 type.clone(elementType));
  return {};
}

/// The value attribute of Constant and ConstantOfShape may carry the fields
/// of its TensorProto.
static Attribute convertAttribute(Attribute value, Type elementType) {
  if (auto tensor = dyn_cast<TensorAttr>(value)) {
    TypedAttr inner = tensor.getValue()
                          ? convertElements(tensor.getValue(), elementType)
                          : TypedAttr();
    return inner
               ? TensorAttr::get(value.getContext(), tensor.getFields(), inner)
               : Attribute();
  }
  if (auto typed = dyn_cast<TypedAttr>(value); typed && !isa<FloatAttr>(value))
    return convertElements(typed, elementType);
  return {};
}

/// The value that Constant or ConstantOfShape holds, as a tensor.
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
  Type type = withElementType(result.getType(), elementType);
  if (auto initializer = dyn_cast<InitializerOp>(constant)) {
    if (initializer.getOverridable() || initializer.getSparse() ||
        !initializer.getValueAttr())
      return false;
    TypedAttr value = convertElements(initializer.getValueAttr(), elementType);
    if (!value)
      return false;
    initializer.setValueAttr(value);
    result.setType(type);
    return true;
  }
  Attribute held =
      getAsTensor(constant, getTensorElementType(result.getType()));
  Attribute value = held ? convertAttribute(held, elementType) : Attribute();
  if (!value)
    return false;
  for (StringRef name : {"value_float", "value_floats"})
    constant->removeAttr(name);
  // One attribute has one order.
  constant->removeAttr(attr::order);
  constant->setAttr("value", value);
  result.setType(type);
  return true;
}

} // namespace mp
