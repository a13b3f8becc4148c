//===- Nodes.cpp - Reading nodes, and names for new ones ------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Dialect/ONNX/Nodes.h"

#include "mlir/IR/AsmState.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectResourceBlobManager.h"

#include <cstring>

using namespace mlir;
using namespace mp::onnxir;

namespace mp {

bool hasOperand(Operation *node, unsigned index) {
  return index < node->getNumOperands() &&
         !isa<NoneType>(node->getOperand(index).getType());
}

bool hasResult(Operation *node, unsigned index) {
  return index < node->getNumResults() &&
         !isa<NoneType>(node->getResult(index).getType());
}

int64_t getInt(Operation *node, StringRef name, int64_t byDefault) {
  auto value = node->getAttrOfType<IntegerAttr>(name);
  return value ? value.getInt() : byDefault;
}

StringRef getString(Operation *node, StringRef name, StringRef byDefault) {
  auto value = node->getAttrOfType<StringAttr>(name);
  return value ? value.getValue() : byDefault;
}

double getFloat(Operation *node, StringRef name, double byDefault) {
  auto value = node->getAttrOfType<FloatAttr>(name);
  return value ? value.getValueAsDouble() : byDefault;
}

ArrayRef<int64_t> getInts(Operation *node, StringRef name) {
  auto value = node->getAttrOfType<DenseI64ArrayAttr>(name);
  return value ? value.asArrayRef() : ArrayRef<int64_t>();
}

/// The value of an initializer or Constant; null for every other value.
static Attribute getConstantValue(Value value) {
  Operation *op = value.getDefiningOp();
  Attribute held;
  if (auto initializer = dyn_cast_or_null<InitializerOp>(op))
    held = initializer.getValueAttr();
  else if (op && isStandardOp(op, "Constant"))
    held = op->getAttr("value");
  if (auto tensor = dyn_cast_or_null<TensorAttr>(held))
    held = tensor.getValue();
  return held;
}

/// The integers of a tensor whose data are in the model's file.
static std::optional<SmallVector<int64_t>>
readStoredInts(DenseResourceElementsAttr elements) {
  AsmResourceBlob *blob = elements.getRawHandle().getBlob();
  Type type = elements.getElementType();
  auto read = [&](auto number) -> std::optional<SmallVector<int64_t>> {
    ArrayRef<char> bytes = blob->getData();
    SmallVector<int64_t> numbers;
    for (; bytes.size() >= sizeof number;
         bytes = bytes.drop_front(sizeof number)) {
      memcpy(&number, bytes.data(), sizeof number);
      numbers.push_back(number);
    }
    if (int64_t(numbers.size()) != elements.getNumElements())
      return std::nullopt;
    return numbers;
  };
  if (blob && type.isSignlessInteger(64))
    return read(int64_t());
  return blob && type.isSignlessInteger(32) ? read(int32_t()) : std::nullopt;
}

std::optional<SmallVector<int64_t>> getConstantInts(Value value) {
  if (Operation *op = value.getDefiningOp();
      op && isStandardOp(op, "Constant")) {
    if (auto list = op->getAttrOfType<DenseI64ArrayAttr>("value_ints"))
      return llvm::to_vector(list.asArrayRef());
    if (auto number = op->getAttrOfType<IntegerAttr>("value_int"))
      return SmallVector<int64_t>{number.getInt()};
  }
  constexpr int64_t most = 4096;
  Attribute held = getConstantValue(value);
  if (auto stored = dyn_cast_or_null<DenseResourceElementsAttr>(held);
      stored && stored.getNumElements() <= most)
    return readStoredInts(stored);
  auto elements = dyn_cast_or_null<DenseElementsAttr>(held);
  if (!elements || elements.getNumElements() > most ||
      !isa<IntegerType>(elements.getElementType()))
    return std::nullopt;
  return llvm::map_to_vector(elements.getValues<APInt>(),
                             [](const APInt &n) { return n.getSExtValue(); });
}

bool isZeroConstant(Value value) {
  Attribute held = getConstantValue(value);
  ArrayRef<char> bytes;
  if (auto elements = dyn_cast_or_null<DenseElementsAttr>(held))
    bytes = elements.getRawData();
  else if (auto stored = dyn_cast_or_null<DenseResourceElementsAttr>(held))
    if (AsmResourceBlob *blob = stored.getRawHandle().getBlob())
      bytes = blob->getData();
  return !bytes.empty() && llvm::all_of(bytes, [](char c) { return c == 0; });
}

std::optional<double> getConstantFloat(Value value) {
  if (Operation *op = value.getDefiningOp(); op && isStandardOp(op, "Constant"))
    if (auto number = op->getAttrOfType<FloatAttr>("value_float"))
      return number.getValueAsDouble();
  auto elements = dyn_cast_or_null<DenseElementsAttr>(getConstantValue(value));
  if (!elements || elements.getNumElements() != 1 ||
      !isa<FloatType>(elements.getElementType()))
    return std::nullopt;
  APFloat number = *elements.getValues<APFloat>().begin();
  bool isInexact = false;
  number.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven,
                 &isInexact);
  return number.convertToDouble();
}

//===----------------------------------------------------------------------===//
// Metadata
//===----------------------------------------------------------------------===//

/// Searches `metadata_props` in a dictionary of fields.
static std::optional<StringRef> getMetadata(DictionaryAttr fields,
                                            StringRef key) {
  auto properties =
      fields ? fields.getAs<ArrayAttr>("metadata_props") : ArrayAttr();
  if (!properties)
    return std::nullopt;
  for (Attribute property : properties) {
    auto entry = dyn_cast<DictionaryAttr>(property);
    if (!entry)
      continue;
    auto name = entry.getAs<StringAttr>("key");
    auto value = entry.getAs<StringAttr>("value");
    if (name && name.getValue() == key)
      return value ? value.getValue() : StringRef();
  }
  return std::nullopt;
}

std::optional<StringRef> getNodeMetadata(Operation *node, StringRef key) {
  return getMetadata(node->getAttrOfType<DictionaryAttr>(attr::extra), key);
}

std::optional<StringRef> getModelMetadata(ModuleOp module, StringRef key) {
  return getMetadata(module->getAttrOfType<DictionaryAttr>(attr::model), key);
}

void setModelMetadata(ModuleOp module, StringRef key, StringRef value) {
  Builder builder(module.getContext());
  NamedAttrList fields(module->getAttrOfType<DictionaryAttr>(attr::model));
  SmallVector<Attribute> entries;
  if (auto list = dyn_cast_or_null<ArrayAttr>(fields.get("metadata_props")))
    for (Attribute entry : list) {
      auto old = dyn_cast<DictionaryAttr>(entry);
      auto name = old ? old.getAs<StringAttr>("key") : StringAttr();
      if (!name || name.getValue() != key)
        entries.push_back(entry);
    }
  entries.push_back(builder.getDictionaryAttr(
      {builder.getNamedAttr("key", builder.getStringAttr(key)),
       builder.getNamedAttr("value", builder.getStringAttr(value))}));
  fields.set("metadata_props", builder.getArrayAttr(entries));
  module->setAttr(attr::model, fields.getDictionary(module.getContext()));
}

//===----------------------------------------------------------------------===//
// UniqueNames
//===----------------------------------------------------------------------===//

/// Drops the type that an attribute may have in addition to its text.
void UniqueNames::add(Space &space, StringAttr name) {
  if (!name || name.empty())
    return;
  if (!isa<NoneType>(name.getType()))
    name = StringAttr::get(context, name.getValue());
  space.taken.insert(name);
}

UniqueNames::UniqueNames(ModuleOp module) : context(module.getContext()) {
  auto nameKey = StringAttr::get(context, attr::name);
  // Count the ops first: a table that grows moves its entries.
  size_t count = 0;
  module.walk([&](Operation *) { ++count; });
  nodes.taken.reserve(2 * count);
  values.taken.reserve(2 * count);
  module.walk([&](Operation *op) {
    add(nodes, op->getAttrOfType<StringAttr>(nameKey));
    for (OpResult result : op->getResults())
      add(values, onnxir::getValueNameAttr(result));
    for (Region &region : op->getRegions())
      for (BlockArgument argument : region.getArguments())
        add(values, onnxir::getValueNameAttr(argument));
    // Also of one that gives no value, but a default.
    if (auto initializer = dyn_cast<InitializerOp>(op))
      add(values, initializer.getNameAttr());
  });
}

StringAttr UniqueNames::take(Space &space, StringAttr base) {
  if (space.taken.insert(base).second)
    return base;
  unsigned &next = space.next[base];
  for (;;) {
    auto made = StringAttr::get(context, base.getValue() + "_" + Twine(++next));
    if (space.taken.insert(made).second)
      return made;
  }
}

} // namespace mp
