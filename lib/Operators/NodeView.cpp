//===- NodeView.cpp - A node, with its schema's defaults ------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Operators/NodeView.h"

using namespace mlir;

namespace mp {

std::optional<int64_t> normalizeAxis(int64_t axis, int64_t rank) {
  if (axis < -rank || axis >= rank)
    return std::nullopt;
  return axis < 0 ? axis + rank : axis;
}

const OpSchema *NodeView::getSchema() const {
  if (!schema)
    schema = onnxir::getSchema(node);
  return *schema;
}

int NodeView::getVersion() const {
  const OpSchema *found = getSchema();
  return found ? found->since : 1;
}

StringRef NodeView::getDefault(StringRef name, StringRef kind) const {
  const OpSchema *found = getSchema();
  const AttributeSchema *attribute =
      found ? found->getAttribute(name) : nullptr;
  if (!attribute || !attribute->defaultValue || attribute->kind != kind)
    return {};
  return *attribute->defaultValue;
}

int64_t NodeView::getInt(StringRef name, int64_t otherwise) const {
  if (auto stated = node->getAttrOfType<IntegerAttr>(name))
    return stated.getInt();
  int64_t value;
  return getDefault(name, "INT").getAsInteger(10, value) ? otherwise : value;
}

double NodeView::getFloat(StringRef name, double otherwise) const {
  if (auto stated = node->getAttrOfType<FloatAttr>(name))
    return stated.getValueAsDouble();
  double value;
  return getDefault(name, "FLOAT").getAsDouble(value) ? otherwise
                                                      : double(float(value));
}

StringRef NodeView::getString(StringRef name, StringRef otherwise) const {
  if (auto stated = node->getAttrOfType<StringAttr>(name))
    return stated.getValue();
  StringRef text = getDefault(name, "STRING");
  return text.empty() ? otherwise : text.drop_front().drop_back();
}

SmallVector<int64_t> NodeView::getInts(StringRef name) const {
  if (auto stated = node->getAttrOfType<DenseI64ArrayAttr>(name))
    return llvm::to_vector(stated.asArrayRef());
  SmallVector<StringRef> items;
  getDefault(name, "INTS").trim("[]").split(items, ", ", -1, false);
  SmallVector<int64_t> values;
  for (StringRef item : items)
    if (int64_t value; !item.getAsInteger(10, value))
      values.push_back(value);
  return values;
}

SmallVector<int64_t> NodeView::permutation(int64_t rank) const {
  SmallVector<int64_t> axes = getInts("perm");
  if (axes.empty())
    axes = llvm::to_vector(llvm::reverse(llvm::seq<int64_t>(0, rank)));
  return axes;
}

LogicalResult NodeView::fail(const Twine &reason) const {
  return node->emitError() << onnxir::describe(node) << ": " << reason;
}

} // namespace mp
