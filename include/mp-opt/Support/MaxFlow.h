//===- MaxFlow.h - Minimum cuts by maximum flow -----------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Dinic's algorithm (1970): shortest augmenting paths in phases, each found
// with current arcs and without recursion. In networks where capacities
// saturate near the source or the sink, as those of precision do, the phases
// are few. A budget bounds the work on networks made to be slow.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_SUPPORT_MAXFLOW_H
#define MPOPT_SUPPORT_MAXFLOW_H

#include <cstdint>
#include <vector>

namespace mp {

class MaxFlow {
public:
  /// A capacity that no minimum cut may include.
  static constexpr int64_t infinite = int64_t(1) << 60;

  MaxFlow() : heads(2, -1) {}

  static constexpr int source = 0, sink = 1;

  /// Adds a vertex.
  int addVertex() {
    heads.push_back(-1);
    return int(heads.size()) - 1;
  }
  /// Adds capacities from one vertex to another, and back; parallel edges add
  /// up.
  void addEdge(int from, int to, int64_t capacity, int64_t back = 0);

  /// Runs to the end, or until it has looked at `budget` edges. False if the
  /// budget did not suffice.
  bool run(uint64_t budget);

  /// After a completed run: the largest source side of any minimum cut, indexed
  /// by vertex.
  std::vector<bool> getLargestSourceSide() const;
  /// Same for the smallest source side.
  std::vector<bool> getSmallestSourceSide() const;

private:
  struct Edge {
    int to, next;
    int64_t capacity;
  };

  bool computeLevels();
  void augment(uint64_t budget);

  std::vector<int> heads;
  /// Edges; the reverse of edge i is i ^ 1.
  std::vector<Edge> edges;
  /// The state of a phase: the distance from the source, and the next edge to
  /// try.
  std::vector<int> levels, current;
  uint64_t work = 0;
};

} // namespace mp

#endif // MPOPT_SUPPORT_MAXFLOW_H
