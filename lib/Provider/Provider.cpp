//===- Provider.cpp - The execution provider of a session -----------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Provider.h"

#include "Capability.h"
#include "Subgraph.h"

#include <algorithm>

namespace mp::ort {

Provider::Provider(const Api &api, const SessionOptions *session,
                   const Logger *logger)
    : api(api), logger(logger), settings(api, session) {
  Ep::getName = [](const Ep *) { return providerName; };
  Ep::getCapability = [](Ep *self, const Graph *graph, GraphSupport *support) {
    auto *own = static_cast<Provider *>(self);
    return own->api.guard(errorEP, [&] { own->takeNodes(graph, support); });
  };
  Ep::compile = [](Ep *self, const Graph **graphs, const Node **fusedNodes,
                   size_t count, ComputeInfo **infos, Node **) {
    auto *own = static_cast<Provider *>(self);
    return own->api.guard(
        errorEP, [&] { own->compileGraphs(graphs, fusedNodes, count, infos); });
  };
  Ep::releaseComputeInfos = [](Ep *, ComputeInfo **infos, size_t count) {
    for (size_t index = 0; index < count; ++index)
      delete static_cast<Subgraph *>(infos[index]);
  };
}

void Provider::log(const std::string &text) const {
  // A line that cannot be logged is not an error.
  if (Status *status =
          api.Logger_LogMessage(logger, logInfo, ("mp-opt: " + text).c_str(),
                                __FILE__, __LINE__, "takeNodes"))
    api.ReleaseStatus(status);
}

void Provider::takeNodes(const Graph *graph, GraphSupport *support) {
  GraphView view(api, graph);
  Capability capability(api, view, [&](const std::string &text) { log(text); });
  FusionOptions options;
  options.dropsConstants = true;
  for (const std::vector<int> &group : capability.findGroups()) {
    std::vector<const Node *> nodes;
    for (int index : group)
      nodes.push_back(view.getNodes()[index].handle);
    api.check(api.EpGraphSupportInfo_AddNodesToFuse(support, nodes.data(),
                                                    nodes.size(), &options));
  }
}

void Provider::compileGraphs(const Graph **graphs, const Node **fusedNodes,
                             size_t count, ComputeInfo **infos) {
  std::fill_n(infos, count, nullptr);
  std::vector<std::unique_ptr<Subgraph>> made;
  for (size_t index = 0; index < count; ++index)
    made.push_back(std::make_unique<Subgraph>(api, settings, graphs[index],
                                              fusedNodes[index]));
  for (size_t index = 0; index < count; ++index)
    infos[index] = made[index].release();
}

} // namespace mp::ort
