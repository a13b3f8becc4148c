//===- GraphView.cpp - A graph of onnxruntime as plain data ---------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GraphView.h"

#include "WireWriter.h"

#include <algorithm>

namespace mp::ort {

bool TensorType::isStatic() const {
  return hasRank && std::all_of(sizes.begin(), sizes.end(),
                                [](int64_t size) { return size >= 0; });
}

size_t getElementSize(int32_t element) {
  // Numbered as in ONNX: float, uint8, int8, uint16, int16, int32, int64,
  // string, bool, fp16, double, uint32, uint64, two complex types, bf16, and
  // four of 8 bits.
  static constexpr uint8_t sizes[] = {0, 4, 1, 1, 2, 2, 4, 8, 0, 1, 2,
                                      8, 4, 8, 0, 0, 2, 1, 1, 1, 1};
  return element >= 0 && size_t(element) < std::size(sizes) ? sizes[element]
                                                            : 0;
}

bool isFloat(int32_t element) {
  return element == elementFloat || element == elementFloat16 ||
         element == elementDouble || element == elementBFloat16;
}

std::string GraphNode::describe() const {
  return "node '" + name + "' (" + (domain.empty() ? "" : domain + ".") + op +
         "-" + std::to_string(version) + ")";
}

GraphView::GraphView(const Api &api, const Graph *graph) : api(api) {
  irVersion = api.get<int64_t>(api.Graph_GetOnnxIRVersion, graph);
  size_t count = api.get<size_t>(api.Graph_GetNumOperatorSets, graph);
  std::vector<const char *> domains(count);
  std::vector<int64_t> versions(count);
  api.check(
      api.Graph_GetOperatorSets(graph, domains.data(), versions.data(), count));
  for (size_t index = 0; index < count; ++index)
    opsets[domains[index]] = versions[index];
  auto handles = api.getList(api.Graph_GetNumNodes, api.Graph_GetNodes, graph);
  // Outputs first: other values may be initializers.
  for (size_t index = 0; index < handles.size(); ++index)
    for (const ValueInfo *info : api.getList(
             api.Node_GetNumOutputs, api.Node_GetOutputs, handles[index]))
      addValue(info, int(index));
  for (size_t index = 0; index < handles.size(); ++index)
    nodes.push_back(readNode(handles[index], int(index)));
  for (const ValueInfo *info :
       api.getList(api.Graph_GetNumOutputs, api.Graph_GetOutputs, graph))
    values[addValue(info, -1)].isGraphOutput = true;
}

int GraphView::find(const std::string &name) const {
  auto found = indices.find(name);
  return found == indices.end() ? -1 : found->second;
}

int64_t GraphView::getOpset(const std::string &domain) const {
  auto found = opsets.find(domain);
  return found == opsets.end() ? 0 : found->second;
}

/// The index of a value, which is read if it is new; -1 if it is absent.
int GraphView::addValue(const ValueInfo *info, int producer) {
  if (!info)
    return -1;
  const char *text = api.get<const char *>(api.GetValueInfoName, info);
  if (!text || !*text)
    return -1;
  auto [entry, isNew] = indices.try_emplace(text, int(values.size()));
  if (!isNew)
    return entry->second;
  GraphValue value;
  value.name = text;
  value.type = readType(info);
  value.producer = producer;
  if (producer < 0 && api.get<bool>(api.ValueInfo_IsConstantInitializer, info))
    value.constant =
        api.get<const Value *>(api.ValueInfo_GetInitializerValue, info);
  values.push_back(std::move(value));
  return entry->second;
}

TensorType GraphView::readType(const ValueInfo *info) const {
  TensorType type;
  auto *general = api.get<const TypeInfo *>(api.GetValueInfoTypeInfo, info);
  if (!general ||
      api.get<ValueKind>(api.GetOnnxTypeFromTypeInfo, general) != kindTensor)
    return type;
  auto *tensor =
      api.get<const TensorInfo *>(api.CastTypeInfoToTensorInfo, general);
  if (!tensor)
    return type;
  type.element = api.get<int32_t>(api.GetTensorElementType, tensor);
  type.hasRank = api.TensorTypeAndShape_HasShape(tensor);
  if (!type.hasRank)
    return type;
  type.sizes = api.getList(api.GetDimensionsCount, api.GetDimensions, tensor);
  std::vector<const char *> names(type.sizes.size());
  api.check(api.GetSymbolicDimensions(tensor, names.data(), names.size()));
  for (const char *name : names)
    type.names.push_back(name ? name : "");
  return type;
}

GraphNode GraphView::readNode(const Node *handle, int index) {
  GraphNode node;
  node.handle = handle;
  node.name = api.getText(api.Node_GetName, handle);
  node.op = api.getText(api.Node_GetOperatorType, handle);
  node.domain = api.getText(api.Node_GetDomain, handle);
  node.version = api.get<int32_t>(api.Node_GetSinceVersion, handle);
  auto add = [&](std::vector<int> &list, auto count, auto fill) {
    for (const ValueInfo *info : api.getList(count, fill, handle))
      list.push_back(addValue(info, -1));
  };
  add(node.inputs, api.Node_GetNumInputs, api.Node_GetInputs);
  add(node.outputs, api.Node_GetNumOutputs, api.Node_GetOutputs);
  add(node.captured, api.Node_GetNumImplicitInputs, api.Node_GetImplicitInputs);
  if (api.get<size_t>(api.Node_GetNumSubgraphs, handle)) {
    node.obstacle = "it has subgraphs, whose nodes are taken one by one";
    return node;
  }
  for (const Attribute *attribute :
       api.getList(api.Node_GetNumAttributes, api.Node_GetAttributes, handle))
    readAttribute(attribute, node);
  return node;
}

/// onnxruntime says the number of bytes, in a first call that fails.
template <typename Element>
std::vector<Element> GraphView::readElements(const Attribute *attribute,
                                             AttributeKind kind) const {
  size_t bytes = 0;
  Element one = {};
  Status *status =
      api.ReadOpAttr(attribute, kind, &one, sizeof(Element), &bytes);
  if (status)
    api.ReleaseStatus(status);
  std::vector<Element> list(bytes / sizeof(Element));
  if (!list.empty())
    api.check(api.ReadOpAttr(attribute, kind, list.data(), bytes, &bytes));
  return list;
}

/// Texts that end with a zero each.
static std::vector<std::string> splitTexts(const std::vector<char> &chars) {
  std::vector<std::string> texts;
  for (auto begin = chars.begin(); begin != chars.end();) {
    auto end = std::find(begin, chars.end(), '\0');
    texts.emplace_back(begin, end);
    begin = end == chars.end() ? end : end + 1;
  }
  return texts;
}

void GraphView::readAttribute(const Attribute *attribute, GraphNode &node) {
  auto kind = api.get<AttributeKind>(api.OpAttr_GetType, attribute);
  std::string name = api.get<const char *>(api.OpAttr_GetName, attribute);
  std::string text;
  WireWriter field(text);
  switch (kind) {
  case attributeInt:
    field.addInt(name, readElements<int64_t>(attribute, kind).at(0));
    break;
  case attributeInts:
    field.addInts(name, readElements<int64_t>(attribute, kind));
    break;
  case attributeFloat:
    field.addFloat(name, readElements<float>(attribute, kind).at(0));
    break;
  case attributeFloats:
    field.addFloats(name, readElements<float>(attribute, kind));
    break;
  case attributeString: {
    std::vector<std::string> texts =
        splitTexts(readElements<char>(attribute, kind));
    field.addString(name, texts.empty() ? "" : texts.front());
    break;
  }
  case attributeStrings:
    field.addStrings(name, splitTexts(readElements<char>(attribute, kind)));
    break;
  case attributeTensor: {
    Value *value =
        api.get<Value *>(api.OpAttr_GetTensorAttributeAsOrtValue, attribute);
    try {
      field.addTensor(name, api, value);
    } catch (const std::exception &thrown) {
      node.obstacle = "attribute '" + name + "': " + thrown.what();
    }
    api.ReleaseValue(value);
    break;
  }
  default:
    node.obstacle =
        "attribute '" + name +
        "' has a type that is not passed on: " + std::to_string(kind);
    return;
  }
  WireWriter(node.attributes).addBytes(onnxfield::nodeAttribute, text);
}

} // namespace mp::ort
