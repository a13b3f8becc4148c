//===- Capability.h - The nodes that are taken ------------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Nodes are taken if the compiler can make code of them: it is asked, first for
// all nodes at once, and if that fails for each form of a node. Groups are
// convex: no path between two of their nodes leaves them.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_PROVIDER_CAPABILITY_H
#define MPOPT_LIB_PROVIDER_CAPABILITY_H

#include "ModelWriter.h"

#include <functional>

namespace mp::ort {

class Capability {
public:
  /// `log` receives a line for each node that is not taken.
  Capability(const Api &api, const GraphView &graph,
             std::function<void(const std::string &)> log);

  /// Groups of nodes, each of which becomes a program.
  std::vector<std::vector<int>> findGroups();

private:
  std::string findStaticObstacle(const GraphNode &node) const;
  std::string checkValue(int index) const;
  std::vector<std::vector<int>> formGroups() const;
  bool canCompile(const std::vector<int> &nodes, std::string *why = nullptr);
  void checkNodes(const std::vector<int> &nodes);
  std::string findNodeObstacle(int index);
  bool isWorthwhile(const std::vector<int> &nodes) const;

  const Api &api;
  const GraphView &graph;
  std::function<void(const std::string &)> log;
  /// The reason why a node is not taken; empty for the others.
  std::vector<std::string> obstacles;
  /// The results of checks of single nodes, by their models.
  std::unordered_map<std::string, std::string> known;
};

} // namespace mp::ort

#endif // MPOPT_LIB_PROVIDER_CAPABILITY_H
