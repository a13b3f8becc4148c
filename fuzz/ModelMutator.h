//===- ModelMutator.h - Models as an attacker would write them --*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Edits that know what a model is: operands, results, attributes and opsets
// by ONNX's schemas, subgraphs, functions, external data. ProtoMutator knows
// the rest.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_FUZZ_MODELMUTATOR_H
#define MPOPT_FUZZ_MODELMUTATOR_H

#include "Random.h"

#include "mp-opt/Schema/Schema.h"

#include "onnx/onnx_pb.h"

#include <vector>

namespace mp::fuzz {

class ModelMutator {
public:
  ModelMutator(::onnx::ModelProto &model, Random &random);

  /// A few edits.
  void mutate();
  /// Parts of `other`: its nodes, subgraphs, functions or weights.
  void cross(const ::onnx::ModelProto &other);

private:
  using Graph = ::onnx::GraphProto;
  using Node = ::onnx::NodeProto;
  using Attribute = ::onnx::AttributeProto;

  void collect();
  void edit();

  void editInputs();
  void editOutputs();
  void editOperator();
  void editAttribute();
  void lieAboutAttribute();
  void editTensor();
  void editType();
  void editNodes();
  void addNode();
  void editGraphInterface();
  void graftSubgraph();
  void nestDeeply();
  void editOpsets();
  void editFunctions();
  void makeExternal();

  void doubleSomething();
  void addSparse();
  void narrowTensor();
  void editVersion();
  void editBindings();
  void editRuled();

  void fillAttribute(Attribute &attribute, llvm::StringRef kind);
  void fillTensor(::onnx::TensorProto &tensor);
  std::string someName();
  std::string freshName() { return "fresh" + std::to_string(random.below(99)); }
  const OpSchema *getSchema(const Node &node);

  ::onnx::ModelProto &model;
  Random &random;
  /// The parts of the model that can be edited; collected anew for every edit.
  std::vector<Graph *> graphs;
  std::vector<Node *> nodes;
  std::vector<::onnx::TensorProto *> tensors;
  std::vector<::onnx::TypeProto *> types;
  std::vector<std::string> names;
};

} // namespace mp::fuzz

#endif // MPOPT_FUZZ_MODELMUTATOR_H
