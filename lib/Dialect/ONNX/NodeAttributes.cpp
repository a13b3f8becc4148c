//===- NodeAttributes.cpp - Node-specific attributes ----------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Dialect/ONNX/NodeAttributes.h"

#include "mp-opt/Dialect/ONNX/ONNX.h"

using namespace mlir;

MLIR_DEFINE_EXPLICIT_TYPE_ID(mp::onnxir::NodeAttributes)

namespace mp::onnxir {

Attribute NodeAttributes::pack(StringAttr name, Attribute value) {
  auto list = dyn_cast_or_null<ArrayAttr>(value);
  return list && list.size() == 1 && isa<StringAttr>(list[0]) &&
                 name.getValue() == attr::results
             ? list[0]
             : value;
}

Attribute NodeAttributes::unpack(StringRef name, Attribute value) {
  return isa<StringAttr>(value) && name == attr::results
             ? ArrayAttr::get(value.getContext(), value)
             : value;
}

/// The names of nodes and results, which are read most, come last.
Attribute NodeAttributes::get(StringRef name) const {
  for (const NamedAttribute &entry : llvm::reverse(entries))
    if (entry.getName().getValue() == name)
      return unpack(name, entry.getValue());
  return {};
}

Attribute NodeAttributes::getResultName(unsigned index) const {
  for (const NamedAttribute &entry : llvm::reverse(entries)) {
    if (entry.getName().getValue() != attr::results)
      continue;
    if (auto list = dyn_cast<ArrayAttr>(entry.getValue()))
      return index < list.size() ? list[index] : Attribute();
    return index ? Attribute() : entry.getValue();
  }
  return {};
}

SmallVector<NamedAttribute> NodeAttributes::getAll() const {
  SmallVector<NamedAttribute> all;
  for (const NamedAttribute &entry : entries)
    all.emplace_back(entry.getName(),
                     unpack(entry.getName(), entry.getValue()));
  return all;
}

void NodeAttributes::set(StringAttr name, Attribute value) {
  value = pack(name, value);
  auto *place = llvm::find_if(entries, [&](const NamedAttribute &entry) {
    return entry.getName() == name;
  });
  if (place == entries.end()) {
    if (!value)
      return;
    // The usual number of a node at the end of the precision passes.
    constexpr size_t usual = 7;
    if (entries.empty())
      entries.reserve(usual);
    entries.insert(llvm::upper_bound(entries, NamedAttribute(name, value)),
                   NamedAttribute(name, value));
  } else if (value) {
    place->setValue(value);
  } else {
    entries.erase(place);
  }
}

void NodeAttributes::removeIf(function_ref<bool(StringRef)> isRemoved) {
  llvm::erase_if(entries, [&](const NamedAttribute &entry) {
    return isRemoved(entry.getName().getValue());
  });
}

NodeAttributes *getNodeAttributes(Operation *op) {
  auto *dialect = dyn_cast_or_null<ONNXDialect>(op->getDialect());
  return dialect && dialect->getFamily(op->getName())
             ? op->getPropertiesStorage().as<NodeAttributes *>()
             : nullptr;
}

void setAttributes(Operation *op, ArrayRef<NamedAttribute> attributes) {
  NodeAttributes *node = getNodeAttributes(op);
  NamedAttrList others;
  for (const NamedAttribute &attribute : attributes)
    if (node && NodeAttributes::holds(attribute.getName()))
      node->set(attribute.getName(), attribute.getValue());
    else
      others.push_back(attribute);
  if (others.empty())
    return;
  NamedAttrList all(op->getAttrDictionary());
  for (const NamedAttribute &attribute : others)
    all.set(attribute.getName(), attribute.getValue());
  op->setAttrs(all.getDictionary(op->getContext()));
}

void addAttribute(OperationState &state, StringAttr name, Attribute value) {
  auto *dialect = dyn_cast_or_null<ONNXDialect>(state.name.getDialect());
  if (NodeAttributes::holds(name) && dialect && dialect->getFamily(state.name))
    state.getOrAddProperties<NodeAttributes>().set(name, value);
  else
    state.addAttribute(name, value);
}

void addAttribute(OperationState &state, StringRef name, Attribute value) {
  addAttribute(state, StringAttr::get(value.getContext(), name), value);
}

} // namespace mp::onnxir
