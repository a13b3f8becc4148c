//===- OptimumProof.cpp - Compare a cut with all other assignments --------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Tries every assignment of the variables that the cut has decided. It uses the
// cost and the rules, but neither networks nor flows.
//
//===----------------------------------------------------------------------===//

#include "AssignmentRules.h"

using namespace mlir;

namespace mp {

using Variable = PrecisionGraph::Variable;

/// True if every 16-bit node that may not round its operands reads only values
/// that are 16 bit or made of constants.
static bool obeysRules(PrecisionGraph &graph, ArrayRef<unsigned> decided) {
  ArrayRef<Variable> variables = graph.getVariables();
  return llvm::all_of(decided, [&](unsigned index) {
    const Variable &variable = variables[index];
    if (!variable.neverNarrows || variable.state != Variable::Low)
      return true;
    return llvm::all_of(variable.reads, [&](unsigned number) {
      const PrecisionGraph::ValueEntry &value = graph.getValues()[number];
      return value.isDerivedFromConstants ||
             (value.producer != PrecisionGraph::fixedF32 &&
              variables[value.producer].state == Variable::Low);
    });
  });
}

llvm::Error proveOptimum(PrecisionGraph &graph, ArrayRef<unsigned> decided) {
  const unsigned limit = 20;
  if (decided.size() > limit)
    return llvm::createStringError(
        Twine(decided.size()) +
        " free variables are too many to try all assignments, at most " +
        Twine(limit) + " are few enough");
  std::vector<Variable> &variables = graph.getVariables();
  auto countLow = [&] {
    return llvm::count_if(decided, [&](unsigned index) {
      return variables[index].state == Variable::Low;
    });
  };
  SmallVector<Variable::State> found;
  for (unsigned index : decided)
    found.push_back(variables[index].state);
  int64_t cost = graph.getCost(), low = countLow();
  bool isOptimum = obeysRules(graph, decided);
  for (uint64_t bits = 0; bits < uint64_t(1) << decided.size(); ++bits) {
    for (auto [position, index] : llvm::enumerate(decided))
      variables[index].state =
          bits >> position & 1 ? Variable::Low : Variable::F32;
    if (!obeysRules(graph, decided))
      continue;
    int64_t other = graph.getCost();
    isOptimum &= other > cost || (other == cost && countLow() >= low);
  }
  for (auto [index, state] : llvm::zip(decided, found))
    variables[index].state = state;
  return isOptimum
             ? llvm::Error::success()
             : llvm::createStringError("the minimum cut is not the optimum");
}

} // namespace mp
