//===- NodeOrder.cpp - Definitions before uses ----------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NodeOrder.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"

#include <queue>

using namespace llvm;
using Node = ::onnx::NodeProto;
using Nodes = google::protobuf::RepeatedPtrField<Node>;

namespace mp {

namespace {
/// A subgraph, and the names that it defines.
struct Scope {
  int outer;
  llvm::DenseSet<StringRef> names;
};
} // namespace

static Scope makeScope(const ::onnx::GraphProto &graph, int outer) {
  Scope scope = {outer, {}};
  for (const ::onnx::ValueInfoProto &input : graph.input())
    scope.names.insert(input.name());
  for (const ::onnx::TensorProto &tensor : graph.initializer())
    scope.names.insert(tensor.name());
  for (const ::onnx::SparseTensorProto &tensor : graph.sparse_initializer())
    scope.names.insert(tensor.values().name());
  for (const Node &node : graph.node())
    for (const std::string &output : node.output())
      scope.names.insert(output);
  return scope;
}

/// Calls `use` for every name outside of `node` that it reads, in its subgraphs
/// too.
static void forEachUse(const Node &node,
                       llvm::function_ref<void(const std::string &)> use) {
  constexpr int outside = -1;
  SmallVector<std::pair<const Node *, int>> worklist = {{&node, outside}};
  std::vector<Scope> scopes;
  auto read = [&](const std::string &name, int scope) {
    for (; scope != outside; scope = scopes[scope].outer)
      if (scopes[scope].names.contains(name))
        return;
    use(name);
  };
  auto addGraph = [&](const ::onnx::GraphProto &graph, int outer) {
    int scope = int(scopes.size());
    scopes.push_back(makeScope(graph, outer));
    for (const Node &inner : graph.node())
      worklist.emplace_back(&inner, scope);
    for (const ::onnx::ValueInfoProto &output : graph.output())
      read(output.name(), scope);
  };
  while (!worklist.empty()) {
    auto [current, scope] = worklist.pop_back_val();
    for (const std::string &name : current->input())
      read(name, scope);
    for (const ::onnx::AttributeProto &attribute : current->attribute()) {
      if (attribute.has_g())
        addGraph(attribute.g(), scope);
      for (const ::onnx::GraphProto &graph : attribute.graphs())
        addGraph(graph, scope);
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
  // Kahn's algorithm; among ready nodes the first in the file is chosen.
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
