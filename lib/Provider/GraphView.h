//===- GraphView.h - A graph of onnxruntime as plain data -------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_PROVIDER_GRAPHVIEW_H
#define MPOPT_LIB_PROVIDER_GRAPHVIEW_H

#include "Api.h"

#include <map>
#include <unordered_map>

namespace mp::ort {

/// The type of a value. Sizes are -1 if unknown; some of these have names.
struct TensorType {
  /// As in ONNX; 0 if the value is not a tensor.
  int32_t element = 0;
  bool hasRank = false;
  std::vector<int64_t> sizes;
  std::vector<std::string> names;

  bool isStatic() const;
};

/// The number of bytes of an element if arrays of it can be passed to compiled
/// code, else 0: strings, complex numbers and numbers of less than a byte.
size_t getElementSize(int32_t element);
bool isFloat(int32_t element);

struct GraphValue {
  std::string name;
  TensorType type;
  /// The tensor of an initializer that cannot be overridden, or null.
  const Value *constant = nullptr;
  /// The index of its node; -1 for inputs, initializers and values of an outer
  /// graph.
  int producer = -1;
  bool isGraphOutput = false;
};

struct GraphNode {
  const Node *handle = nullptr;
  std::string name, op, domain;
  int32_t version = 0;
  /// Indices of values, -1 if absent. `captured` are values that bodies read.
  std::vector<int> inputs, outputs, captured;
  /// The attributes as fields of a NodeProto.
  std::string attributes;
  /// The reason why the node cannot be written as ONNX; else empty.
  std::string obstacle;

  /// node 'enc/3/Softmax' (Softmax-13)
  std::string describe() const;
};

/// A copy of a graph, except for the bytes of its initializers. It is valid as
/// long as the graph.
class GraphView {
public:
  GraphView(const Api &api, const Graph *graph);

  /// In an order in which nodes follow those that they depend on.
  const std::vector<GraphNode> &getNodes() const { return nodes; }
  const std::vector<GraphValue> &getValues() const { return values; }
  /// The index of a value, or -1.
  int find(const std::string &name) const;
  int64_t getIRVersion() const { return irVersion; }
  /// The version of a domain; 0 if the graph does not import it.
  int64_t getOpset(const std::string &domain) const;

private:
  int addValue(const ValueInfo *info, int producer);
  GraphNode readNode(const Node *node, int index);
  void readAttribute(const Attribute *attribute, GraphNode &node);
  TensorType readType(const ValueInfo *info) const;
  template <typename Element>
  std::vector<Element> readElements(const Attribute *attribute,
                                    AttributeKind kind) const;

  const Api &api;
  std::vector<GraphNode> nodes;
  std::vector<GraphValue> values;
  std::unordered_map<std::string, int> indices;
  std::map<std::string, int64_t> opsets;
  int64_t irVersion = 0;
};

} // namespace mp::ort

#endif // MPOPT_LIB_PROVIDER_GRAPHVIEW_H
