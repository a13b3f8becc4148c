//===- CutNetwork.h - Variables as vertices of a flow -----------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The source side of the cut is 16 bit, the sink side f32. A free variable is
// a vertex. A value of n elements adds, for its producer p and consumers c:
//   s -> p         2n         f32 weighs 2n more than 16 bit
//   p -> x -> c    6n, inf    p is 16 bit and some c is not: one cast
//   c -> y -> p    inf, 6n    p is f32 and some c is not: one cast
// where a fixed p or c is the source or the sink, and x and y are left out for
// a single c. A constant is 16 bit only if all its users are (p -> c, inf),
// and f32 costs it a cast, or a copy. With a price of errors, e(p) for rounding
// a result and e(c) for rounding an operand that is f32 until then, it adds:
//   p -> t         e(p)
//   c -> p         e(c)
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_PRECISION_ASSIGNMENT_CUTNETWORK_H
#define MPOPT_LIB_PRECISION_ASSIGNMENT_CUTNETWORK_H

#include "PrecisionGraph.h"

#include "mp-opt/Support/MaxFlow.h"

namespace mp {

/// The network of one connected part of the free variables.
class CutNetwork {
public:
  using Variable = PrecisionGraph::Variable;
  using ValueEntry = PrecisionGraph::ValueEntry;

  CutNetwork(PrecisionGraph &graph, std::vector<int> &vertices)
      : graph(graph), variables(graph.getVariables()), vertices(vertices) {}

  void addVariable(unsigned variable) { vertices[variable] = flow.addVertex(); }
  void addValue(const ValueEntry &value);
  /// Adds the price of rounding the result of `producer`, and that of rounding
  /// an operand of `consumer` that `producer` computes.
  void addResultPrice(int producer, int64_t price);
  void addOperandPrice(int producer, int consumer, int64_t price);
  /// False if the cut was not found within the work limit.
  bool solve(llvm::ArrayRef<unsigned> members);

private:
  int getVertex(int variable) const;
  void addConstant(const ValueEntry &value);
  void addWidening(int producer, const ValueEntry &value);
  void addNarrowing(int producer, const ValueEntry &value, int64_t bytes);
  void addEdge(int from, int to, int64_t capacity) {
    flow.addEdge(from, to, capacity);
    ++edges;
  }

  PrecisionGraph &graph;
  std::vector<Variable> &variables;
  /// Indexed by variable.
  std::vector<int> &vertices;
  MaxFlow flow;
  uint64_t edges = 0;
};

} // namespace mp

#endif // MPOPT_LIB_PRECISION_ASSIGNMENT_CUTNETWORK_H
