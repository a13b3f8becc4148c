//===- CutNetwork.cpp - Variables as vertices of a flow -------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CutNetwork.h"

using namespace mlir;

namespace mp {

int CutNetwork::getVertex(int variable) const {
  if (variable == PrecisionGraph::fixedF32 ||
      variables[variable].state == Variable::F32)
    return MaxFlow::sink;
  return variables[variable].state == Variable::Low ? MaxFlow::source
                                                    : vertices[variable];
}

/// Adds the cost of a 16-bit producer with an f32 consumer.
void CutNetwork::addWidening(int producer, const ValueEntry &value) {
  int64_t bytes = 3 * graph.getLowBytes(value);
  bool isWidened = value.hasF32Use;
  SmallVector<int, 4> users;
  for (int consumer : value.consumers) {
    int user = getVertex(consumer);
    isWidened |= user == MaxFlow::sink;
    if (user != MaxFlow::sink && user != MaxFlow::source && user != producer)
      users.push_back(user);
  }
  if (isWidened)
    return addEdge(producer, MaxFlow::sink, bytes);
  if (users.empty())
    return;
  if (users.size() == 1)
    return addEdge(producer, users.front(), bytes);
  int cast = flow.addVertex();
  addEdge(producer, cast, bytes);
  for (int user : users)
    addEdge(cast, user, MaxFlow::infinite);
}

/// Adds the cost of an f32 producer with a 16-bit consumer.
void CutNetwork::addNarrowing(int producer, const ValueEntry &value,
                              int64_t bytes) {
  SmallVector<int, 4> users;
  for (int consumer : value.consumers) {
    int user = getVertex(consumer);
    if (user == MaxFlow::source) {
      if (producer != MaxFlow::sink)
        addEdge(MaxFlow::source, producer, bytes);
      return;
    }
    if (user != MaxFlow::sink && user != producer)
      users.push_back(user);
  }
  if (users.empty())
    return;
  if (users.size() == 1)
    return addEdge(users.front(), producer, bytes);
  int cast = flow.addVertex();
  addEdge(cast, producer, bytes);
  for (int user : users)
    addEdge(user, cast, MaxFlow::infinite);
}

void CutNetwork::addConstant(const ValueEntry &value) {
  int64_t castBytes = graph.getCastBytes(value);
  bool staysF32 = value.hasF32Use;
  for (int consumer : value.consumers)
    staysF32 |= getVertex(consumer) == MaxFlow::sink;
  if (staysF32)
    return addNarrowing(MaxFlow::sink, value, castBytes);
  if (value.consumers.size() == 1)
    return addEdge(MaxFlow::source, getVertex(value.consumers.front()),
                   graph.getLowBytes(value));
  int constant = flow.addVertex();
  addEdge(MaxFlow::source, constant, graph.getLowBytes(value));
  for (int consumer : value.consumers)
    if (getVertex(consumer) != MaxFlow::source)
      addEdge(constant, getVertex(consumer), MaxFlow::infinite);
  addNarrowing(constant, value, castBytes);
}

void CutNetwork::addValue(const ValueEntry &value) {
  if (graph.hasBothTypes(value.producer))
    return addConstant(value);
  int producer = getVertex(value.producer);
  int64_t bytes = graph.getLowBytes(value);
  if (producer != MaxFlow::source && producer != MaxFlow::sink)
    addEdge(MaxFlow::source, producer, bytes);
  if (producer != MaxFlow::sink)
    addWidening(producer, value);
  if (producer != MaxFlow::source)
    addNarrowing(producer, value, 3 * bytes);
  if (value.isDerivedFromConstants)
    return;
  for (int consumer : value.consumers)
    if (variables[consumer].neverNarrows && producer != MaxFlow::source &&
        getVertex(consumer) != MaxFlow::sink)
      addEdge(getVertex(consumer), producer, MaxFlow::infinite);
}

bool CutNetwork::solve(ArrayRef<unsigned> members) {
  if (!flow.run(/*budget=*/1000000 + 200 * edges))
    return false;
  std::vector<bool> isLow = flow.getSmallestSourceSide();
  for (unsigned member : members)
    variables[member].state =
        isLow[vertices[member]] ? Variable::Low : Variable::F32;
  return true;
}

void CutNetwork::addResultPrice(int producer, int64_t price) {
  int vertex = getVertex(producer);
  if (price > 0 && vertex != MaxFlow::source && vertex != MaxFlow::sink)
    addEdge(vertex, MaxFlow::sink, price);
}

void CutNetwork::addOperandPrice(int producer, int consumer, int64_t price) {
  // A constant is f32 until it is rounded for its users.
  int from = getVertex(consumer),
      to = graph.hasBothTypes(producer) ? MaxFlow::sink : getVertex(producer);
  bool isFixed = from == MaxFlow::source && to == MaxFlow::sink;
  if (price > 0 && from != MaxFlow::sink && to != MaxFlow::source && !isFixed)
    addEdge(from, to, price);
}

} // namespace mp
