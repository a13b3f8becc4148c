//===- ModelWriter.h - A part of a graph as an ONNX model -------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_PROVIDER_MODELWRITER_H
#define MPOPT_LIB_PROVIDER_MODELWRITER_H

#include "GraphView.h"
#include "WireWriter.h"

namespace mp::ort {

/// Nodes of a graph, in its order, and the values at their border.
struct GraphPart {
  std::vector<int> nodes, inputs, outputs;
  /// Constants that the nodes read.
  std::vector<int> constants;
};

/// Constants of more bytes are inputs of models that are only checked.
constexpr size_t maxCheckedBytes = 4096;

/// The part that the nodes make. Outputs are values of the part that are
/// outputs of the graph, or that others read; without any, all that the part
/// does not read itself. If `isChecked`, big constants are inputs.
GraphPart makePart(const Api &api, const GraphView &graph,
                   std::vector<int> nodes, bool isChecked);

/// An input of a model.
struct ModelInput {
  std::string name;
  TensorType type;
};

/// Writes models. Names of values may be replaced by numbers, so that equal
/// nodes give equal models.
class ModelWriter {
public:
  ModelWriter(const Api &api, const GraphView &graph, const GraphPart &part,
              bool isNumbered = false);

  /// The inputs of the model, with the types that the graph says.
  std::vector<ModelInput> getInputs() const;
  /// The model without its inputs, which may be appended (protobuf merges
  /// fields that occur twice). The text has room for them.
  std::string write() const;

private:
  std::string getName(int value) const;
  std::string describeNode(const GraphNode &node) const;
  std::string describeGraph() const;

  const Api &api;
  const GraphView &graph;
  const GraphPart &part;
  std::unordered_map<int, std::string> numbers;
};

/// Appends inputs to the model whose first `size` bytes are in `model`. Fails
/// if there is no room, since other models refer to the bytes.
void appendInputs(const std::vector<ModelInput> &inputs, size_t size,
                  std::string &model);

} // namespace mp::ort

#endif // MPOPT_LIB_PROVIDER_MODELWRITER_H
