//===- ModelMutator.cpp - Models as an attacker would write them ----------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ModelMutator.h"

#include "ProtoMutator.h"

namespace mp::fuzz {

ModelMutator::ModelMutator(::onnx::ModelProto &model, Random &random)
    : model(model), random(random) {}

void ModelMutator::collect() {
  graphs.clear(), nodes.clear(), tensors.clear(), types.clear();
  names.clear();
  if (model.has_graph())
    graphs.push_back(model.mutable_graph());
  for (auto &info : *model.mutable_training_info()) {
    graphs.push_back(info.mutable_initialization());
    graphs.push_back(info.mutable_algorithm());
  }
  auto addNodes = [&](auto &list) {
    for (Node &node : list) {
      nodes.push_back(&node);
      names.insert(names.end(), node.output().begin(), node.output().end());
      for (Attribute &attribute : *node.mutable_attribute()) {
        if (attribute.has_t())
          tensors.push_back(attribute.mutable_t());
        if (attribute.has_g())
          graphs.push_back(attribute.mutable_g());
      }
    }
  };
  auto addInfos = [&](auto &list) {
    for (::onnx::ValueInfoProto &info : list) {
      types.push_back(info.mutable_type());
      names.push_back(info.name());
    }
  };
  for (auto &function : *model.mutable_functions())
    addNodes(*function.mutable_node());
  // Grows while it is walked.
  for (size_t index = 0; index < graphs.size(); ++index) {
    Graph &graph = *graphs[index];
    addNodes(*graph.mutable_node());
    addInfos(*graph.mutable_input());
    addInfos(*graph.mutable_output());
    addInfos(*graph.mutable_value_info());
    for (auto &tensor : *graph.mutable_initializer()) {
      tensors.push_back(&tensor);
      names.push_back(tensor.name());
    }
  }
}

void ModelMutator::mutate() {
  for (uint64_t count = 1 + random.below(4); count; --count)
    edit();
}

void ModelMutator::edit() {
  using Edit = void (ModelMutator::*)();
  static constexpr Edit edits[] = {
      &ModelMutator::editInputs,      &ModelMutator::editInputs,
      &ModelMutator::editOutputs,     &ModelMutator::editOperator,
      &ModelMutator::editAttribute,   &ModelMutator::editAttribute,
      &ModelMutator::editAttribute,   &ModelMutator::lieAboutAttribute,
      &ModelMutator::editTensor,      &ModelMutator::editTensor,
      &ModelMutator::editType,        &ModelMutator::editType,
      &ModelMutator::editNodes,       &ModelMutator::addNode,
      &ModelMutator::addNode,         &ModelMutator::editGraphInterface,
      &ModelMutator::graftSubgraph,   &ModelMutator::nestDeeply,
      &ModelMutator::editOpsets,      &ModelMutator::editFunctions,
      &ModelMutator::editFunctions,   &ModelMutator::makeExternal,
      &ModelMutator::doubleSomething, &ModelMutator::addSparse,
      &ModelMutator::narrowTensor,    &ModelMutator::editVersion,
      &ModelMutator::editBindings,    &ModelMutator::editRuled};
  collect();
  if (graphs.empty() || random.oneIn(6))
    return mutateMessage(model, random);
  (this->*random.pick(edits))();
}

const OpSchema *ModelMutator::getSchema(const Node &node) {
  const OpFamily *family =
      SchemaRegistry::builtin().lookup(node.domain(), node.op_type());
  return family ? random.pick(family->getVersions()).get() : nullptr;
}

std::string ModelMutator::someName() {
  if (names.empty() || random.oneIn(8))
    return random.oneIn(2) ? freshName() : oddString(random);
  return random.pick(names);
}

//===----------------------------------------------------------------------===//
// Nodes
//===----------------------------------------------------------------------===//

void ModelMutator::editInputs() {
  if (nodes.empty())
    return;
  Node &node = *random.pick(nodes);
  int count = node.input_size();
  if (!count || random.oneIn(4)) {
    node.add_input(someName());
    return;
  }
  int index = int(random.below(count));
  switch (random.below(5)) {
  case 0:
    node.mutable_input()->DeleteSubrange(index, 1);
    return;
  case 1:
    node.set_input(index, "");
    return;
  case 2:
    node.mutable_input()->SwapElements(index, int(random.below(count)));
    return;
  default:
    node.set_input(index, someName());
    return;
  }
}

void ModelMutator::editOutputs() {
  if (nodes.empty())
    return;
  Node &node = *random.pick(nodes);
  int count = node.output_size();
  if (!count || random.oneIn(3)) {
    node.add_output(random.oneIn(3) ? someName() : freshName());
    return;
  }
  int index = int(random.below(count));
  if (random.oneIn(4))
    node.mutable_output()->DeleteSubrange(index, 1);
  else
    node.set_output(index, random.oneIn(3) ? std::string() : someName());
}

void ModelMutator::editOperator() {
  if (nodes.empty())
    return;
  Node &node = *random.pick(nodes);
  if (random.oneIn(6)) {
    node.set_op_type(oddString(random));
    return;
  }
  const OpFamily *family = random.pick(SchemaRegistry::builtin().getFamilies());
  node.set_op_type(family->name);
  node.set_domain(family->domain);
}

void ModelMutator::addNode() {
  if (graphs.empty())
    return;
  const OpFamily *family = random.pick(SchemaRegistry::builtin().getFamilies());
  const OpSchema &schema = *random.pick(family->getVersions());
  Node &node = *random.pick(graphs)->add_node();
  node.set_op_type(family->name);
  if (!family->domain.empty())
    node.set_domain(family->domain);
  for (const FormalParameter &input : schema.inputs)
    if (input.option == FormalParameter::Single || random.oneIn(2))
      node.add_input(someName());
  uint64_t outputs = std::max<size_t>(schema.outputs.size(), 1);
  for (uint64_t index = 0; index < outputs; ++index)
    node.add_output("made" + std::to_string(random.below(1 << 20)));
  for (const AttributeSchema &described : schema.attributes) {
    if (!described.required && random.oneIn(2))
      continue;
    Attribute &attribute = *node.add_attribute();
    attribute.set_name(described.name);
    fillAttribute(attribute, described.kind);
  }
}

void ModelMutator::editNodes() {
  Graph &graph = *random.pick(graphs);
  int count = graph.node_size();
  if (!count)
    return;
  int index = int(random.below(count));
  switch (random.below(4)) {
  case 0:
    graph.mutable_node()->DeleteSubrange(index, 1);
    return;
  case 1:
    graph.add_node()->CopyFrom(graph.node(index));
    return;
  case 2: {
    // An operand of its own result.
    Node &node = *graph.mutable_node(index);
    if (node.output_size())
      node.add_input(node.output(0));
    return;
  }
  default:
    graph.mutable_node()->SwapElements(index, int(random.below(count)));
    return;
  }
}

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

void ModelMutator::fillAttribute(Attribute &attribute, llvm::StringRef kind) {
  Attribute::AttributeType type = Attribute::UNDEFINED;
  Attribute::AttributeType_Parse(kind.str(), &type);
  attribute.set_type(type);
  static constexpr float floats[] = {0, 1, -1, 1e30f, 1e-30f};
  uint64_t length = random.below(5);
  switch (type) {
  case Attribute::INT:
    attribute.set_i(random.oddInteger());
    return;
  case Attribute::FLOAT:
    attribute.set_f(random.pick(floats));
    return;
  case Attribute::STRING:
    attribute.set_s(oddString(random));
    return;
  case Attribute::TENSOR:
    fillTensor(*attribute.mutable_t());
    return;
  case Attribute::INTS:
    for (; length; --length)
      attribute.add_ints(random.oddInteger());
    return;
  case Attribute::FLOATS:
    for (; length; --length)
      attribute.add_floats(random.pick(floats));
    return;
  case Attribute::STRINGS:
    for (; length; --length)
      attribute.add_strings(oddString(random));
    return;
  case Attribute::GRAPH:
    if (!graphs.empty()) {
      // A graph must not hold itself while it is copied.
      Graph copy = *random.pick(graphs);
      if (copy.ByteSizeLong() < 4096)
        attribute.mutable_g()->Swap(&copy);
    }
    return;
  default:
    mutateMessage(attribute, random);
    return;
  }
}

void ModelMutator::editAttribute() {
  if (nodes.empty())
    return;
  Node &node = *random.pick(nodes);
  const OpSchema *schema = getSchema(node);
  if (!schema || schema->attributes.empty() || random.oneIn(6)) {
    if (node.attribute_size())
      mutateMessage(
          *node.mutable_attribute(int(random.below(node.attribute_size()))),
          random);
    return;
  }
  const AttributeSchema &described = random.pick(schema->attributes);
  auto &list = *node.mutable_attribute();
  auto it = std::find_if(list.begin(), list.end(), [&](const Attribute &given) {
    return given.name() == described.name;
  });
  if (it != list.end() && random.oneIn(5)) {
    list.DeleteSubrange(int(it - list.begin()), 1);
    return;
  }
  Attribute &attribute =
      it == list.end() || random.oneIn(20) ? *list.Add() : *it;
  attribute.Clear();
  attribute.set_name(described.name);
  fillAttribute(attribute, described.kind);
}

void ModelMutator::lieAboutAttribute() {
  if (nodes.empty())
    return;
  Node &node = *random.pick(nodes);
  if (!node.attribute_size())
    return;
  Attribute &attribute =
      *node.mutable_attribute(int(random.below(node.attribute_size())));
  switch (random.below(4)) {
  case 0:
    attribute.set_type(Attribute::AttributeType(random.below(15)));
    return;
  case 1:
    attribute.clear_type();
    return;
  case 2:
    attribute.set_ref_attr_name(someName());
    return;
  default:
    // A second value beside the first.
    mutateMessage(attribute, random);
    attribute.add_ints(random.oddInteger());
    return;
  }
}

//===----------------------------------------------------------------------===//
// Tensors and types
//===----------------------------------------------------------------------===//

void ModelMutator::fillTensor(::onnx::TensorProto &tensor) {
  static constexpr int32_t kinds[] = {1, 6, 7, 9, 10, 11, 16, 8, 23};
  tensor.Clear();
  tensor.set_data_type(random.pick(kinds));
  uint64_t count = random.below(5);
  tensor.add_dims(random.oneIn(8) ? random.oddInteger() : int64_t(count));
  for (; count; --count) {
    switch (tensor.data_type()) {
    case 1:
      tensor.add_float_data(float(random.oddInteger()));
      break;
    case 7:
      tensor.add_int64_data(random.oddInteger());
      break;
    case 8:
      tensor.add_string_data(oddString(random));
      break;
    case 11:
      tensor.add_double_data(double(random.oddInteger()));
      break;
    default:
      tensor.add_int32_data(int32_t(random.oddInteger()));
      break;
    }
  }
}

void ModelMutator::editTensor() {
  if (tensors.empty())
    return;
  ::onnx::TensorProto &tensor = *random.pick(tensors);
  switch (random.below(5)) {
  case 0: {
    std::string name = tensor.name();
    fillTensor(tensor);
    tensor.set_name(name);
    return;
  }
  case 1:
    tensor.set_data_type(int32_t(random.below(30)));
    return;
  case 2:
    mutateBytes(*tensor.mutable_raw_data(), random);
    return;
  case 3:
    if (tensor.dims_size())
      tensor.set_dims(int(random.below(tensor.dims_size())),
                      random.oddInteger());
    return;
  default:
    return mutateMessage(tensor, random);
  }
}

void ModelMutator::editType() {
  if (types.empty())
    return;
  ::onnx::TypeProto &type = *random.pick(types);
  switch (random.below(7)) {
  case 0:
    return type.Clear();
  case 1: {
    ::onnx::TypeProto inner = type;
    *type.mutable_sequence_type()->mutable_elem_type() = inner;
    return;
  }
  case 2: {
    ::onnx::TypeProto inner = type;
    *type.mutable_optional_type()->mutable_elem_type() = inner;
    return;
  }
  case 3:
    type.mutable_tensor_type()->set_elem_type(int32_t(random.below(30)));
    return;
  case 4:
    type.mutable_tensor_type()->mutable_shape()->add_dim()->set_dim_value(
        random.oddInteger());
    return;
  case 5: {
    auto &shape = *type.mutable_tensor_type()->mutable_shape();
    if (shape.dim_size())
      shape.mutable_dim(int(random.below(shape.dim_size())))
          ->set_dim_value(random.oddInteger());
    return;
  }
  default:
    return mutateMessage(type, random);
  }
}

} // namespace mp::fuzz
