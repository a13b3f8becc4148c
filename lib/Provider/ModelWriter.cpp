//===- ModelWriter.cpp - A part of a graph as an ONNX model ---------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ModelWriter.h"

#include <algorithm>
#include <set>

namespace mp::ort {

//===----------------------------------------------------------------------===//
// Parts
//===----------------------------------------------------------------------===//

/// True if a constant stays one in a model that is only checked.
static bool isKept(const Api &api, const GraphValue &value) {
  return !getElementSize(value.type.element) ||
         api.get<size_t>(api.GetTensorSizeInBytes, value.constant) <=
             maxCheckedBytes;
}

/// Values that nodes outside of the part read, and outputs of the graph.
static std::set<int> findReadOutside(const GraphView &graph,
                                     const std::set<int> &inside) {
  std::set<int> read;
  for (size_t index = 0; index < graph.getNodes().size(); ++index) {
    const GraphNode &node = graph.getNodes()[index];
    read.insert(node.captured.begin(), node.captured.end());
    if (!inside.count(int(index)))
      read.insert(node.inputs.begin(), node.inputs.end());
  }
  for (size_t index = 0; index < graph.getValues().size(); ++index)
    if (graph.getValues()[index].isGraphOutput)
      read.insert(int(index));
  return read;
}

GraphPart makePart(const Api &api, const GraphView &graph,
                   std::vector<int> nodes, bool isChecked) {
  GraphPart part;
  part.nodes = std::move(nodes);
  std::set<int> inside(part.nodes.begin(), part.nodes.end());
  std::set<int> seen, readInside;
  for (int index : part.nodes)
    for (int input : graph.getNodes()[index].inputs) {
      if (input < 0)
        continue;
      const GraphValue &value = graph.getValues()[input];
      readInside.insert(input);
      if (inside.count(value.producer) || !seen.insert(input).second)
        continue;
      bool isConstant = value.constant && (!isChecked || isKept(api, value));
      (isConstant ? part.constants : part.inputs).push_back(input);
    }
  std::set<int> readOutside = findReadOutside(graph, inside);
  for (int index : part.nodes)
    for (int output : graph.getNodes()[index].outputs)
      if (output >= 0 &&
          (readOutside.count(output) || !readInside.count(output)))
        part.outputs.push_back(output);
  return part;
}

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

static std::string describeDim(const TensorType &type, size_t axis) {
  std::string dim;
  WireWriter fields(dim);
  if (type.sizes[axis] >= 0)
    fields.addNumber(onnxfield::dimValue, uint64_t(type.sizes[axis]));
  else if (axis < type.names.size() && !type.names[axis].empty())
    fields.addBytes(onnxfield::dimName, type.names[axis]);
  return dim;
}

/// A ValueInfoProto.
static std::string describeValue(const std::string &name,
                                 const TensorType &type) {
  std::string shape, tensor, whole, value;
  for (size_t axis = 0; axis < type.sizes.size(); ++axis)
    WireWriter(shape).addBytes(onnxfield::shapeDim, describeDim(type, axis));
  WireWriter(tensor).addNumber(onnxfield::typeElement, uint64_t(type.element));
  if (type.hasRank)
    WireWriter(tensor).addBytes(onnxfield::typeShape, shape);
  WireWriter(whole).addBytes(onnxfield::typeTensor, tensor);
  WireWriter(value).addBytes(onnxfield::valueName, name);
  WireWriter(value).addBytes(onnxfield::valueType, whole);
  return value;
}

//===----------------------------------------------------------------------===//
// Models
//===----------------------------------------------------------------------===//

ModelWriter::ModelWriter(const Api &api, const GraphView &graph,
                         const GraphPart &part, bool isNumbered)
    : api(api), graph(graph), part(part) {
  if (!isNumbered)
    return;
  auto number = [&](const std::vector<int> &values) {
    for (int value : values)
      numbers.try_emplace(value, std::to_string(numbers.size()));
  };
  for (int index : part.nodes) {
    number(graph.getNodes()[index].inputs);
    number(graph.getNodes()[index].outputs);
  }
}

std::string ModelWriter::getName(int value) const {
  if (value < 0)
    return "";
  auto found = numbers.find(value);
  return found == numbers.end() ? graph.getValues()[value].name : found->second;
}

std::vector<ModelInput> ModelWriter::getInputs() const {
  std::vector<ModelInput> inputs;
  for (int input : part.inputs)
    inputs.push_back({getName(input), graph.getValues()[input].type});
  return inputs;
}

std::string ModelWriter::describeNode(const GraphNode &node) const {
  std::string text;
  WireWriter fields(text);
  for (int input : node.inputs)
    fields.addBytes(onnxfield::nodeInput, getName(input));
  for (int output : node.outputs)
    fields.addBytes(onnxfield::nodeOutput, getName(output));
  if (numbers.empty())
    fields.addBytes(onnxfield::nodeName, node.name);
  fields.addBytes(onnxfield::nodeOp, node.op);
  fields.addBytes(onnxfield::nodeDomain, node.domain);
  return text + node.attributes;
}

/// The graph without inputs and initializers.
std::string ModelWriter::describeGraph() const {
  std::string text;
  WireWriter fields(text);
  fields.addBytes(onnxfield::graphName, "part");
  std::set<int> outputs(part.outputs.begin(), part.outputs.end());
  for (int index : part.nodes) {
    const GraphNode &node = graph.getNodes()[index];
    fields.addBytes(onnxfield::graphNode, describeNode(node));
    for (int output : node.outputs) {
      if (output < 0)
        continue;
      const GraphValue &value = graph.getValues()[output];
      if (!outputs.count(output) && value.type.element)
        fields.addBytes(onnxfield::graphValue,
                        describeValue(getName(output), value.type));
    }
  }
  for (int output : part.outputs)
    fields.addBytes(
        onnxfield::graphOutput,
        describeValue(getName(output), graph.getValues()[output].type));
  return text;
}

/// Room for the inputs: names, and 16 bytes or a name for each dimension.
static size_t getInputRoom(const std::vector<ModelInput> &inputs) {
  constexpr size_t perInput = 128, perDim = 32, maxRank = 64;
  size_t room = 64;
  for (const ModelInput &input : inputs) {
    room += perInput + input.name.size();
    room += (input.type.hasRank ? input.type.sizes.size() : maxRank) * perDim;
    for (const std::string &name : input.type.names)
      room += name.size();
  }
  return room;
}

std::string ModelWriter::write() const {
  std::string head, body = describeGraph();
  WireWriter fields(head);
  // Before version 4, initializers had to be inputs, too.
  fields.addNumber(onnxfield::modelIRVersion,
                   uint64_t(std::max<int64_t>(graph.getIRVersion(), 4)));
  std::set<std::string> domains;
  for (int index : part.nodes)
    domains.insert(graph.getNodes()[index].domain);
  for (const std::string &domain : domains) {
    std::string opset;
    WireWriter(opset).addBytes(onnxfield::opsetDomain, domain);
    WireWriter(opset).addNumber(onnxfield::opsetVersion,
                                uint64_t(graph.getOpset(domain)));
    fields.addBytes(onnxfield::modelOpset, opset);
  }
  std::vector<TensorFields> constants;
  size_t size = body.size();
  for (int index : part.constants) {
    const GraphValue &value = graph.getValues()[index];
    constants.emplace_back(getName(index), api, value.constant);
    size_t own = constants.back().getSize();
    size += 1 + getVarintSize(own) + own;
  }
  std::string model;
  model.reserve(head.size() + size + getInputRoom(getInputs()));
  model += head;
  WireWriter whole(model);
  whole.beginBytes(onnxfield::modelGraph, size);
  model += body;
  for (const TensorFields &constant : constants) {
    whole.beginBytes(onnxfield::graphInitializer, constant.getSize());
    constant.append(model);
  }
  return model;
}

void appendInputs(const std::vector<ModelInput> &inputs, size_t size,
                  std::string &model) {
  std::string graph;
  for (const ModelInput &input : inputs)
    WireWriter(graph).addBytes(onnxfield::graphInput,
                               describeValue(input.name, input.type));
  std::string field;
  WireWriter(field).addBytes(onnxfield::modelGraph, graph);
  if (size + field.size() > model.capacity())
    throw std::runtime_error("mp-opt: the inputs of a part of the graph do "
                             "not fit");
  model.resize(size);
  model += field;
}

} // namespace mp::ort
