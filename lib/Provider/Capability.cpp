//===- Capability.cpp - The nodes that are taken --------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Capability.h"

#include "Compiler.h"

#include <algorithm>

namespace mp::ort {

/// Constants of a group must not exceed this: ONNX models of 2 GB have their
/// data in other files.
static constexpr size_t maxGroupBytes = size_t(1900) << 20;

Capability::Capability(const Api &api, const GraphView &graph,
                       std::function<void(const std::string &)> log)
    : api(api), graph(graph), log(std::move(log)) {
  for (const GraphNode &node : graph.getNodes())
    obstacles.push_back(findStaticObstacle(node));
}

//===----------------------------------------------------------------------===//
// Nodes
//===----------------------------------------------------------------------===//

/// The reason why a value is not passed to compiled code; else empty.
std::string Capability::checkValue(int index) const {
  if (index < 0)
    return "";
  const GraphValue &value = graph.getValues()[index];
  if (!value.type.element)
    return "'" + value.name + "' is not a tensor";
  // Constants of less than a byte are inside of a model.
  bool isNumber = value.constant ? value.type.element != elementString
                                 : getElementSize(value.type.element) > 0;
  if (!isNumber)
    return "'" + value.name + "' has elements of the ONNX type " +
           std::to_string(value.type.element) +
           ", which are not passed to compiled code";
  if (value.constant &&
      api.get<size_t>(api.GetTensorSizeInBytes, value.constant) > maxGroupBytes)
    return "'" + value.name + "' has more than 1.9 GB";
  return "";
}

std::string Capability::findStaticObstacle(const GraphNode &node) const {
  if (!node.obstacle.empty())
    return node.obstacle;
  if (!graph.getOpset(node.domain))
    return "the model does not import its domain";
  for (const std::vector<int> *list : {&node.inputs, &node.outputs})
    for (int index : *list)
      if (std::string text = checkValue(index); !text.empty())
        return text;
  return "";
}

/// Ranks to try for inputs whose rank the graph does not know; code is made
/// later, for sizes that occur.
static constexpr size_t triedRanks[] = {3, 2, 4, 1, 0};

static void setRank(std::vector<ModelInput> &inputs, size_t rank) {
  for (ModelInput &input : inputs)
    if (!input.type.hasRank) {
      input.type.hasRank = true;
      input.type.sizes.assign(rank, -1);
    }
}

/// Checks a model with these inputs.
static std::string findObstacle(std::string &model,
                                const std::vector<ModelInput> &inputs) {
  size_t size = model.size();
  bool isRanked =
      std::all_of(inputs.begin(), inputs.end(),
                  [](const ModelInput &input) { return input.type.hasRank; });
  std::string first;
  for (size_t rank : triedRanks) {
    std::vector<ModelInput> ranked = inputs;
    setRank(ranked, rank);
    appendInputs(ranked, size, model);
    std::string text = findObstacle(model);
    if (text.empty() || isRanked)
      return text;
    if (first.empty())
      first = text;
  }
  return first;
}

bool Capability::canCompile(const std::vector<int> &nodes, std::string *why) {
  GraphPart part = makePart(api, graph, nodes, /*isChecked=*/true);
  ModelWriter writer(api, graph, part);
  std::string model = writer.write();
  std::string text = ort::findObstacle(model, writer.getInputs());
  if (why)
    *why = text;
  return text.empty();
}

/// Equal nodes are checked once.
std::string Capability::findNodeObstacle(int index) {
  GraphPart part = makePart(api, graph, {index}, /*isChecked=*/true);
  ModelWriter writer(api, graph, part, /*isNumbered=*/true);
  std::string model = writer.write(), key = model;
  std::vector<ModelInput> inputs = writer.getInputs();
  key.reserve(model.capacity());
  appendInputs(inputs, model.size(), key);
  auto [entry, isNew] = known.try_emplace(std::move(key));
  if (isNew)
    entry->second = ort::findObstacle(model, inputs);
  return entry->second;
}

void Capability::checkNodes(const std::vector<int> &nodes) {
  for (int index : nodes)
    obstacles[index] = findNodeObstacle(index);
}

//===----------------------------------------------------------------------===//
// Groups
//===----------------------------------------------------------------------===//

/// Numbers nodes by the most often that a path to them enters a part that is
/// not taken; the nodes of a number are a group. A path that leaves a group
/// ends in another number, so that groups are convex.
std::vector<std::vector<int>> Capability::formGroups() const {
  const std::vector<GraphNode> &nodes = graph.getNodes();
  std::vector<size_t> level(nodes.size(), 0), bytes;
  std::vector<std::vector<int>> groups;
  for (size_t index = 0; index < nodes.size(); ++index) {
    bool isTaken = obstacles[index].empty();
    size_t own = 0, constants = 0;
    auto follow = [&](int value) {
      if (value < 0)
        return;
      const GraphValue &operand = graph.getValues()[value];
      if (operand.constant)
        constants +=
            api.get<size_t>(api.GetTensorSizeInBytes, operand.constant);
      if (operand.producer < 0)
        return;
      bool enters = !isTaken && obstacles[operand.producer].empty();
      own = std::max(own, level[operand.producer] + enters);
    };
    std::for_each(nodes[index].inputs.begin(), nodes[index].inputs.end(),
                  follow);
    std::for_each(nodes[index].captured.begin(), nodes[index].captured.end(),
                  follow);
    if (isTaken) {
      // A full group ends, and later nodes begin the next one.
      while (own < bytes.size() && bytes[own] + constants > maxGroupBytes)
        ++own;
      if (own >= groups.size()) {
        groups.resize(own + 1);
        bytes.resize(own + 1);
      }
      groups[own].push_back(int(index));
      bytes[own] += constants;
    }
    level[index] = own;
  }
  groups.erase(std::remove_if(groups.begin(), groups.end(),
                              [](const auto &group) { return group.empty(); }),
               groups.end());
  return groups;
}

/// Arithmetic on shapes alone is left to onnxruntime, unless it is all of the
/// graph.
bool Capability::isWorthwhile(const std::vector<int> &nodes) const {
  if (nodes.size() == graph.getNodes().size())
    return true;
  return std::any_of(nodes.begin(), nodes.end(), [&](int index) {
    const GraphNode &node = graph.getNodes()[index];
    auto isFloatValue = [&](int value) {
      return value >= 0 && isFloat(graph.getValues()[value].type.element);
    };
    return std::any_of(node.outputs.begin(), node.outputs.end(), isFloatValue);
  });
}

std::vector<std::vector<int>> Capability::findGroups() {
  bool isDone = true;
  for (const std::vector<int> &group : formGroups())
    if (!canCompile(group)) {
      checkNodes(group);
      isDone = false;
    }
  std::vector<std::vector<int>> taken;
  for (std::vector<int> &group : formGroups()) {
    std::string why;
    if (!isWorthwhile(group))
      why = "it only computes sizes";
    else if (isDone || canCompile(group, &why)) {
      taken.push_back(std::move(group));
      continue;
    }
    for (int index : group)
      obstacles[index] = why;
  }
  for (size_t index = 0; index < obstacles.size(); ++index)
    if (!obstacles[index].empty())
      log(graph.getNodes()[index].describe() +
          " stays with other providers: " + obstacles[index]);
  return taken;
}

} // namespace mp::ort
