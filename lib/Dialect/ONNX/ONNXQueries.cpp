//===- ONNXQueries.cpp - Questions about nodes and values -----------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Dialect/ONNX/NodeAttributes.h"
#include "mp-opt/Dialect/ONNX/ONNX.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace mp::onnxir {

//===----------------------------------------------------------------------===//
// Schemas
//===----------------------------------------------------------------------===//

std::optional<int64_t> getOpset(Operation *op, StringRef domain) {
  domain = normalizeDomain(domain);
  ArrayAttr imports;
  for (Operation *scope = op; scope && !imports; scope = scope->getParentOp())
    imports = scope->getAttrOfType<ArrayAttr>(attr::opsets);
  if (!imports) {
    // A fragment of IR without imports has the newest opset.
    auto *dialect = op->getContext()->getLoadedDialect<ONNXDialect>();
    int newest = dialect->getSchemas().getNewestOpset(domain);
    return newest ? newest : 1;
  }
  for (Attribute import : imports) {
    auto pair = dyn_cast<ArrayAttr>(import);
    if (!pair || pair.size() < 2)
      continue;
    // A domain left out is the default one.
    auto name = dyn_cast<StringAttr>(pair[0]);
    auto version = dyn_cast<IntegerAttr>(pair[1]);
    if (version && normalizeDomain(name ? name.getValue() : "") == domain)
      return version.getInt();
  }
  return std::nullopt;
}

static const OpFamily *getFamily(Operation *op) {
  auto *dialect = dyn_cast_or_null<ONNXDialect>(op->getDialect());
  return dialect ? dialect->getFamily(op->getName()) : nullptr;
}

const OpSchema *getSchemaAt(const OpFamily &family,
                            std::optional<int64_t> opset) {
  const OpSchema *schema =
      family.at(opset ? int(std::min<int64_t>(*opset, INT32_MAX)) : 1);
  return schema ? schema : family.getVersions().front().get();
}

const OpSchema *getSchema(Operation *op) {
  const OpFamily *family = getFamily(op);
  return family ? getSchemaAt(*family, getOpset(op, family->domain)) : nullptr;
}

StringRef getDomain(Operation *op) {
  if (auto custom = dyn_cast<CustomOp>(op))
    return custom.getOnnxDomain();
  const OpFamily *family = getFamily(op);
  return family ? StringRef(family->domain) : StringRef();
}

StringRef getOpType(Operation *op) {
  if (auto custom = dyn_cast<CustomOp>(op))
    return custom.getOnnxOpType();
  const OpFamily *family = getFamily(op);
  return family ? StringRef(family->name) : StringRef();
}

bool isNode(Operation *op) { return isa<CustomOp>(op) || getFamily(op); }

bool isStandardOp(Operation *op, StringRef opType) {
  const OpFamily *family = getFamily(op);
  return family && family->domain.empty() && family->name == opType;
}

bool isMicrosoftOp(Operation *op, StringRef opType) {
  const OpFamily *family = getFamily(op);
  return family && family->domain == "com.microsoft" && family->name == opType;
}

OperationName getOperationName(MLIRContext *context, const OpFamily &family) {
  return OperationName("onnx." + getQualifiedName(family.domain, family.name),
                       context);
}

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

YieldOp getYield(Region &region) {
  if (region.empty() || region.back().empty())
    return {};
  return dyn_cast<YieldOp>(region.back().back());
}

StringRef getNodeName(Operation *op) {
  auto name = op->getAttrOfType<StringAttr>(attr::name);
  return name ? name.getValue() : StringRef();
}

/// The name in a ValueInfo dictionary or plain string.
static StringAttr getEntryName(Attribute entry) {
  if (auto dictionary = dyn_cast<DictionaryAttr>(entry))
    entry = dictionary.get("name");
  return dyn_cast_or_null<StringAttr>(entry);
}

static StringAttr getNameAt(Operation *op, StringRef attribute,
                            unsigned index) {
  auto names = op->getAttrOfType<ArrayAttr>(attribute);
  return names && index < names.size() ? getEntryName(names[index])
                                       : StringAttr();
}

StringAttr getValueNameAttr(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    YieldOp yield = getYield(*argument.getOwner()->getParent());
    return yield ? getNameAt(yield, attr::inputs, argument.getArgNumber())
                 : StringAttr();
  }
  auto result = cast<OpResult>(value);
  Operation *op = result.getOwner();
  if (auto initializer = dyn_cast<InitializerOp>(op))
    return initializer.getNameAttr();
  if (auto outer = dyn_cast<OuterOp>(op))
    return outer.getNameAttr();
  if (NodeAttributes *node = getNodeAttributes(op)) {
    Attribute name = node->getResultName(result.getResultNumber());
    return name ? getEntryName(name) : StringAttr();
  }
  return getNameAt(op, attr::results, result.getResultNumber());
}

StringRef getValueName(Value value) {
  StringAttr name = getValueNameAttr(value);
  return name ? name.getValue() : StringRef();
}

std::string getPrintableName(Value value) {
  std::string name;
  for (char c : getValueName(value)) {
    bool keep = llvm::isAlnum(c) || c == '.' || c == '$' || c == '-';
    if (keep || !name.empty())
      name += keep ? c : '_';
  }
  return name;
}

void setValueName(OpResult value, StringRef name) {
  Operation *op = value.getOwner();
  Builder builder(op->getContext());
  if (auto initializer = dyn_cast<InitializerOp>(op)) {
    initializer.setName(name);
    return;
  }
  SmallVector<Attribute> names;
  for (OpResult result : op->getResults())
    names.push_back(
        builder.getStringAttr(result == value ? name : getValueName(result)));
  op->setAttr(attr::results, builder.getArrayAttr(names));
}

std::string describe(Operation *op) {
  StringRef name = getNodeName(op);
  std::string text = "node ";
  if (name.empty() && op->getNumResults())
    text += "with output '" + getValueName(op->getResult(0)).str() + "'";
  else
    text += "'" + name.str() + "'";
  if (const OpSchema *schema = getSchema(op))
    return text + " (" + schema->getDisplayName() + ")";
  if (isa<CustomOp>(op))
    return text + " (" + getQualifiedName(getDomain(op), getOpType(op)) + ")";
  if (auto initializer = dyn_cast<InitializerOp>(op))
    return "initializer '" + initializer.getName().str() + "'";
  return "'" + op->getName().getStringRef().str() + "'";
}

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

ElementKind getElementKind(Type type) {
  if (!type)
    return ElementKind::Undefined;
  if (isa<StringType>(type))
    return ElementKind::String;
  if (auto complex = dyn_cast<ComplexType>(type))
    return complex.getElementType().isF32()   ? ElementKind::Complex64
           : complex.getElementType().isF64() ? ElementKind::Complex128
                                              : ElementKind::Undefined;
  if (auto integer = dyn_cast<IntegerType>(type)) {
    bool isUnsigned = integer.isUnsigned();
    switch (integer.getWidth()) {
    case 1:
      return ElementKind::Bool;
    case 2:
      return isUnsigned ? ElementKind::UInt2 : ElementKind::Int2;
    case 4:
      return isUnsigned ? ElementKind::UInt4 : ElementKind::Int4;
    case 8:
      return isUnsigned ? ElementKind::UInt8 : ElementKind::Int8;
    case 16:
      return isUnsigned ? ElementKind::UInt16 : ElementKind::Int16;
    case 32:
      return isUnsigned ? ElementKind::UInt32 : ElementKind::Int32;
    case 64:
      return isUnsigned ? ElementKind::UInt64 : ElementKind::Int64;
    default:
      return ElementKind::Undefined;
    }
  }
  if (type.isF32())
    return ElementKind::Float;
  if (type.isF16())
    return ElementKind::Float16;
  if (type.isBF16())
    return ElementKind::BFloat16;
  if (type.isF64())
    return ElementKind::Double;
  if (isa<Float8E4M3FNType>(type))
    return ElementKind::Float8E4M3FN;
  if (isa<Float8E4M3FNUZType>(type))
    return ElementKind::Float8E4M3FNUZ;
  if (isa<Float8E5M2Type>(type))
    return ElementKind::Float8E5M2;
  if (isa<Float8E5M2FNUZType>(type))
    return ElementKind::Float8E5M2FNUZ;
  if (isa<Float8E8M0FNUType>(type))
    return ElementKind::Float8E8M0;
  if (isa<Float4E2M1FNType>(type))
    return ElementKind::Float4E2M1;
  return ElementKind::Undefined;
}

Type getElementType(MLIRContext *context, ElementKind kind) {
  Builder b(context);
  switch (kind) {
  case ElementKind::Undefined:
    return {};
  case ElementKind::Float:
    return b.getF32Type();
  case ElementKind::UInt8:
    return b.getIntegerType(8, false);
  case ElementKind::Int8:
    return b.getIntegerType(8);
  case ElementKind::UInt16:
    return b.getIntegerType(16, false);
  case ElementKind::Int16:
    return b.getIntegerType(16);
  case ElementKind::Int32:
    return b.getIntegerType(32);
  case ElementKind::Int64:
    return b.getIntegerType(64);
  case ElementKind::String:
    return StringType::get(context);
  case ElementKind::Bool:
    return b.getI1Type();
  case ElementKind::Float16:
    return b.getF16Type();
  case ElementKind::Double:
    return b.getF64Type();
  case ElementKind::UInt32:
    return b.getIntegerType(32, false);
  case ElementKind::UInt64:
    return b.getIntegerType(64, false);
  case ElementKind::Complex64:
    return ComplexType::get(b.getF32Type());
  case ElementKind::Complex128:
    return ComplexType::get(b.getF64Type());
  case ElementKind::BFloat16:
    return b.getBF16Type();
  case ElementKind::Float8E4M3FN:
    return Float8E4M3FNType::get(context);
  case ElementKind::Float8E4M3FNUZ:
    return Float8E4M3FNUZType::get(context);
  case ElementKind::Float8E5M2:
    return Float8E5M2Type::get(context);
  case ElementKind::Float8E5M2FNUZ:
    return Float8E5M2FNUZType::get(context);
  case ElementKind::UInt4:
    return b.getIntegerType(4, false);
  case ElementKind::Int4:
    return b.getIntegerType(4);
  case ElementKind::Float4E2M1:
    return Float4E2M1FNType::get(context);
  case ElementKind::Float8E8M0:
    return Float8E8M0FNUType::get(context);
  case ElementKind::UInt2:
    return b.getIntegerType(2, false);
  case ElementKind::Int2:
    return b.getIntegerType(2);
  }
  return {};
}

Type getTensorElementType(Type type) {
  auto tensor = dyn_cast_or_null<TensorType>(type);
  return tensor ? tensor.getElementType() : Type();
}

bool isFloatTensor(Type type) {
  Type element = getTensorElementType(type);
  return element && (element.isF32() || element.isF16() || element.isBF16() ||
                     element.isF64());
}

bool isF32Tensor(Type type) {
  Type element = getTensorElementType(type);
  return element && element.isF32();
}

bool is16BitTensor(Type type) {
  Type element = getTensorElementType(type);
  return element && (element.isF16() || element.isBF16());
}

Type withElementType(Type tensorType, Type elementType) {
  return cast<TensorType>(tensorType).clone(elementType);
}

Type withoutShape(Type type) {
  if (Type element = getTensorElementType(type))
    return UnrankedTensorType::get(element);
  if (auto sequence = dyn_cast<SequenceType>(type))
    return SequenceType::get(type.getContext(),
                             withoutShape(sequence.getElementType()));
  if (auto optional = dyn_cast<OptionalType>(type))
    return OptionalType::get(type.getContext(),
                             withoutShape(optional.getElementType()));
  return type;
}

bool isVague(Type type) { return isa<UnknownType, UnrankedTensorType>(type); }

} // namespace mp::onnxir
