//===- MaxFlow.cpp - Minimum cuts by maximum flow -------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Support/MaxFlow.h"

#include <algorithm>

namespace mp {

void MaxFlow::addEdge(int from, int to, int64_t capacity, int64_t back) {
  edges.push_back({to, heads[from], std::min(capacity, infinite)});
  heads[from] = int(edges.size()) - 1;
  edges.push_back({from, heads[to], std::min(back, infinite)});
  heads[to] = int(edges.size()) - 1;
}

bool MaxFlow::computeLevels() {
  levels.assign(heads.size(), -1);
  levels[source] = 0;
  std::vector<int> queue = {source};
  for (size_t next = 0; next < queue.size(); ++next) {
    int vertex = queue[next];
    // Paths of this phase do not go past the sink's level.
    if (levels[sink] >= 0 && levels[vertex] >= levels[sink])
      break;
    for (int edge = heads[vertex]; edge >= 0; edge = edges[edge].next) {
      ++work;
      if (edges[edge].capacity <= 0 || levels[edges[edge].to] >= 0)
        continue;
      levels[edges[edge].to] = levels[vertex] + 1;
      queue.push_back(edges[edge].to);
    }
  }
  return levels[sink] >= 0;
}

void MaxFlow::augment(uint64_t budget) {
  current = heads;
  std::vector<int> path;
  int vertex = source;
  while (work <= budget) {
    if (vertex == sink) {
      int64_t amount = infinite;
      for (int edge : path)
        amount = std::min(amount, edges[edge].capacity);
      size_t keep = path.size();
      for (size_t i = path.size(); i-- > 0;) {
        edges[path[i]].capacity -= amount;
        edges[path[i] ^ 1].capacity += amount;
        if (!edges[path[i]].capacity)
          keep = i;
      }
      work += path.size();
      // Continue from the tail of the first saturated edge.
      vertex = edges[path[keep] ^ 1].to;
      path.resize(keep);
      continue;
    }
    int &edge = current[vertex];
    while (edge >= 0 && (edges[edge].capacity <= 0 ||
                         levels[edges[edge].to] != levels[vertex] + 1)) {
      ++work;
      edge = edges[edge].next;
    }
    if (edge >= 0) {
      path.push_back(edge);
      vertex = edges[edge].to;
      continue;
    }
    if (vertex == source)
      return;
    levels[vertex] = -1;
    vertex = edges[path.back() ^ 1].to;
    path.pop_back();
  }
}

bool MaxFlow::run(uint64_t budget) {
  while (computeLevels()) {
    if (work <= budget)
      augment(budget);
    if (work > budget)
      return false;
  }
  return true;
}

std::vector<bool> MaxFlow::getLargestSourceSide() const {
  // All vertices except those that can still reach the sink.
  std::vector<bool> isSource(heads.size(), true);
  std::vector<int> queue = {sink};
  isSource[sink] = false;
  for (size_t next = 0; next < queue.size(); ++next)
    for (int edge = heads[queue[next]]; edge >= 0; edge = edges[edge].next) {
      int from = edges[edge].to;
      if (!isSource[from] || edges[edge ^ 1].capacity <= 0)
        continue;
      isSource[from] = false;
      queue.push_back(from);
    }
  return isSource;
}

std::vector<bool> MaxFlow::getSmallestSourceSide() const {
  // The vertices that the source can still reach.
  std::vector<bool> isSource(heads.size(), false);
  std::vector<int> queue = {source};
  isSource[source] = true;
  for (size_t next = 0; next < queue.size(); ++next)
    for (int edge = heads[queue[next]]; edge >= 0; edge = edges[edge].next) {
      int to = edges[edge].to;
      if (isSource[to] || edges[edge].capacity <= 0)
        continue;
      isSource[to] = true;
      queue.push_back(to);
    }
  return isSource;
}

} // namespace mp
