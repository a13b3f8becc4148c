//===- InvalidEdits.cpp - Models that contradict ONNX's rules -------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One edit for each class of what import refuses that other edits hardly meet:
// what is given twice, sparse indices, narrow data, versions, bindings, and the
// numbers and words of attributes that have rules.
//
//===----------------------------------------------------------------------===//

#include "ModelMutator.h"
#include "ProtoMutator.h"

#include "mp-opt/Operators/ValueRules.h"

namespace mp::fuzz {

/// Something that may be there once, or be in one place, is there twice.
void ModelMutator::doubleSomething() {
  switch (random.below(5)) {
  case 0:
    if (!nodes.empty())
      if (Node &node = *random.pick(nodes); node.attribute_size())
        node.add_attribute()->CopyFrom(random.pick(node.attribute()));
    return;
  case 1:
    if (!model.functions().empty()) {
      auto copy = random.pick(model.functions());
      if (random.oneIn(2))
        copy.set_overload(oddString(random));
      model.add_functions()->Swap(&copy);
    }
    return;
  case 2: {
    auto &entry = *model.add_metadata_props();
    entry.set_key(random.oneIn(2) ? "key" : oddString(random));
    return;
  }
  case 3:
    if (!tensors.empty()) {
      ::onnx::TensorProto &tensor = *random.pick(tensors);
      random.oneIn(2) ? tensor.add_int32_data(1) : tensor.add_float_data(1);
    }
    return;
  default: {
    Graph &graph = *random.pick(graphs);
    if (graph.input_size())
      graph.add_input()->CopyFrom(random.pick(graph.input()));
    return;
  }
  }
}

/// A sparse tensor, good or with a mistake in its indices.
void ModelMutator::addSparse() {
  ::onnx::SparseTensorProto *sparse;
  if (nodes.empty() || random.oneIn(2)) {
    sparse = random.pick(graphs)->add_sparse_initializer();
  } else {
    Node &node = *random.pick(nodes);
    node.set_op_type("Constant");
    node.clear_input();
    node.clear_attribute();
    Attribute &attribute = *node.add_attribute();
    attribute.set_name("sparse_value");
    attribute.set_type(Attribute::SPARSE_TENSOR);
    sparse = attribute.mutable_sparse_tensor();
  }
  int64_t size = int64_t(1 + random.below(4));
  auto &values = *sparse->mutable_values();
  values.set_name(freshName());
  values.set_data_type(::onnx::TensorProto::FLOAT);
  values.add_dims(size);
  auto &indices = *sparse->mutable_indices();
  indices.set_data_type(::onnx::TensorProto::INT64);
  indices.add_dims(size);
  bool hasRows = random.oneIn(2);
  if (hasRows)
    indices.add_dims(2);
  for (int64_t index = 0; index < size; ++index) {
    values.add_float_data(float(index));
    if (hasRows)
      indices.add_int64_data(random.oneIn(12) ? random.oddInteger() : 0);
    indices.add_int64_data(random.oneIn(12) ? random.oddInteger() : index);
  }
  sparse->add_dims(random.oneIn(8) ? random.oddInteger() : 2);
  sparse->add_dims(random.oneIn(8) ? random.oddInteger() : 5);
  if (random.oneIn(6))
    mutateMessage(*sparse, random);
}

/// Data of elements that share bytes, or that are more than one number.
void ModelMutator::narrowTensor() {
  using Tensor = ::onnx::TensorProto;
  static constexpr int32_t kinds[] = {
      Tensor::INT4,         Tensor::UINT4,      Tensor::INT2,
      Tensor::UINT2,        Tensor::FLOAT4E2M1, Tensor::FLOAT8E5M2,
      Tensor::FLOAT8E4M3FN, Tensor::COMPLEX64,  Tensor::COMPLEX128};
  if (tensors.empty())
    return;
  Tensor &tensor = *random.pick(tensors);
  std::string name = tensor.name();
  tensor.Clear();
  tensor.set_name(name);
  tensor.set_data_type(random.pick(kinds));
  tensor.add_dims(int64_t(random.below(6)));
  uint64_t count = random.below(8);
  if (random.oneIn(2))
    tensor.set_raw_data(std::string(count, '\1'));
  else
    for (; count; --count)
      random.oneIn(30) ? tensor.add_double_data(1)
                       : tensor.add_int32_data(int32_t(random.below(300)));
}

void ModelMutator::editVersion() {
  int64_t version =
      random.oneIn(3) ? random.oddInteger() : int64_t(1 + random.below(14));
  model.set_ir_version(version);
}

/// Edits the bindings of training_info.
void ModelMutator::editBindings() {
  if (model.training_info().empty()) {
    if (random.oneIn(8))
      mutateMessage(*model.add_training_info(), random);
    return;
  }
  auto &training = random.pick(*model.mutable_training_info());
  auto &list = random.oneIn(3) ? *training.mutable_initialization_binding()
                               : *training.mutable_update_binding();
  auto &binding =
      list.empty() || random.oneIn(4) ? *list.Add() : random.pick(list);
  if (random.oneIn(2))
    binding.set_key(someName());
  else
    binding.set_value(someName());
}

/// An attribute that has a rule, beyond it or just within.
void ModelMutator::editRuled() {
  if (nodes.empty())
    return;
  Node &node = *random.pick(nodes);
  auto rules = getValueRules(node.op_type());
  if (rules.empty())
    return;
  const ValueRule &rule = random.pick(rules);
  auto &list = *node.mutable_attribute();
  auto given =
      std::find_if(list.begin(), list.end(), [&](const Attribute &one) {
        return one.name() == rule.attribute;
      });
  Attribute &attribute = given == list.end() ? *list.Add() : *given;
  attribute.Clear();
  attribute.set_name(rule.attribute.str());
  bool isText = rule.kind == ValueRule::Words;
  bool isList = rule.kind == ValueRule::Axes ||
                rule.kind == ValueRule::Permutation ||
                rule.kind == ValueRule::PerSpatialAxis;
  if (isText) {
    attribute.set_type(Attribute::STRING);
    attribute.set_s(random.oneIn(3) ? oddString(random)
                                    : rule.words.split('|').first.str());
  } else if (isList) {
    attribute.set_type(Attribute::INTS);
    for (uint64_t count = random.below(6); count; --count)
      attribute.add_ints(int64_t(random.below(6)) - 1);
  } else {
    attribute.set_type(Attribute::INT);
    attribute.set_i(int64_t(random.below(8)) - 3);
  }
}

} // namespace mp::fuzz
