//===- NodeOrder.cpp - Definitions before uses ----------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NodeOrder.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"

#include <queue>

using namespace llvm;
using Node = ::onnx::NodeProto;
using Nodes = google::protobuf::RepeatedPtrField<Node>;

namespace mp {

/// Calls `use` for every name that `node` reads, in its subgraphs too.
static void forEachUse(const Node &node,
                       llvm::function_ref<void(const std::string &)> use) {
  SmallVector<const Node *> worklist = {&node};
  auto addGraph = [&](const ::onnx::GraphProto &graph) {
    for (const Node &inner : graph.node())
      worklist.push_back(&inner);
    for (const ::onnx::ValueInfoProto &output : graph.output())
      use(output.name());
  };
  while (!worklist.empty()) {
    const Node *current = worklist.pop_back_val();
    for (const std::string &name : current->input())
      use(name);
    for (const ::onnx::AttributeProto &attribute : current->attribute()) {
      if (attribute.has_g())
        addGraph(attribute.g());
      for (const ::onnx::GraphProto &graph : attribute.graphs())
        addGraph(graph);
    }
  }
}

const Node *getTopologicalOrder(const Nodes &nodes, std::vector<int> &order) {
  // The texts are those of `nodes`.
  llvm::DenseMap<StringRef, int> producers;
  producers.reserve(nodes.size());
  for (auto [index, node] : llvm::enumerate(nodes))
    for (const std::string &output : node.output())
      if (!output.empty())
        producers.try_emplace(output, int(index));
  order.resize(nodes.size());
  std::vector<int> waiting(nodes.size());
  std::vector<SmallVector<int, 2>> users(nodes.size());
  bool sorted = true;
  for (auto [index, node] : llvm::enumerate(nodes)) {
    order[index] = int(index);
    forEachUse(node, [&, index = index](const std::string &name) {
      auto it = producers.find(name);
      if (it == producers.end())
        return;
      users[it->second].push_back(int(index));
      ++waiting[index];
      sorted &= it->second < int(index);
    });
  }
  if (sorted)
    return nullptr;
  // Kahn's algorithm; among ready nodes the first in the file goes first.
  std::priority_queue<int, std::vector<int>, std::greater<int>> ready;
  for (int index = 0; index < nodes.size(); ++index)
    if (!waiting[index])
      ready.push(index);
  order.clear();
  while (!ready.empty()) {
    int index = ready.top();
    ready.pop();
    order.push_back(index);
    for (int user : users[index])
      if (!--waiting[user])
        ready.push(user);
  }
  if (order.size() == size_t(nodes.size()))
    return nullptr;
  auto stuck = llvm::find_if(waiting, [](int count) { return count > 0; });
  return &nodes.Get(int(stuck - waiting.begin()));
}

} // namespace mp
