//===- FirstOperand.cpp - Decide nodes from their operands ----------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AssignmentRules.h"

using namespace mlir;

namespace mp {

namespace {

using Variable = PrecisionGraph::Variable;
using ValueEntry = PrecisionGraph::ValueEntry;

/// The effect of a value on the precision of its users.
enum class Vote : uint8_t { Abstain, Low, F32 };

class FirstOperand {
public:
  FirstOperand(PrecisionGraph &graph, ArrayRef<NodePrecision> nodes)
      : graph(graph), variables(graph.getVariables()), nodes(nodes),
        isDerivedFromConstants(variables.size()) {}

  void run();

private:
  Vote getVote(unsigned value) const;
  Vote combine(unsigned index, OpClass opClass) const;
  void decide(unsigned index);
  void decideByUsers(unsigned index);
  bool allUsersLow(const Variable &variable) const;
  DecisionReason inLow(StringRef before) const {
    return graph.getReason(before + graph.getLowName());
  }

  PrecisionGraph &graph;
  std::vector<Variable> &variables;
  ArrayRef<NodePrecision> nodes;
  /// Free variables that depend only on constants and parameters.
  std::vector<bool> isDerivedFromConstants;
};

} // namespace

Vote FirstOperand::getVote(unsigned index) const {
  const ValueEntry &value = graph.getValues()[index];
  if (graph.hasBothTypes(value.producer))
    return Vote::Abstain;
  if (value.producer == PrecisionGraph::fixedF32)
    return value.isDerivedFromConstants && isa<BlockArgument>(value.value)
               ? Vote::Abstain
               : Vote::F32;
  if (isDerivedFromConstants[value.producer])
    return Vote::Abstain;
  return variables[value.producer].state == Variable::Low ? Vote::Low
                                                          : Vote::F32;
}

Vote FirstOperand::combine(unsigned index, OpClass opClass) const {
  Vote vote = Vote::Abstain;
  for (unsigned value : variables[index].reads) {
    // Variables that are decided together do not vote for each other.
    if (graph.getValues()[value].producer == int(index))
      continue;
    Vote next = getVote(value);
    vote = std::max(vote, next);
    if (opClass == OpClass::Follow && next != Vote::Abstain)
      return next;
  }
  return vote;
}

void FirstOperand::decide(unsigned index) {
  Variable &variable = variables[index];
  if (variable.state != Variable::Free || graph.hasBothTypes(int(index)))
    return;
  variable.state = Variable::F32;
  if (variable.kind == Variable::Tied) {
    variable.reason = graph.getReason("control flow");
    return;
  }
  OpClass opClass = nodes[*variable.node].opClass;
  Vote vote = combine(index, opClass);
  bool isFollow = opClass == OpClass::Follow;
  if (vote == Vote::Abstain) {
    isDerivedFromConstants[index] = true;
  } else if (vote == Vote::Low) {
    variable.state = Variable::Low;
    variable.reason =
        inLow(isFollow ? "its first operand is " : "its operands are ");
  } else {
    variable.reason =
        graph.getReason(isFollow ? StringRef(followsF32) : "an operand is f32");
  }
}

bool FirstOperand::allUsersLow(const Variable &variable) const {
  bool hasUse = false;
  for (unsigned index : variable.writes) {
    const ValueEntry &value = graph.getValues()[index];
    if (value.hasF32Use)
      return false;
    for (int consumer : value.consumers) {
      hasUse = true;
      if (variables[consumer].state != Variable::Low)
        return false;
    }
  }
  return hasUse;
}

void FirstOperand::decideByUsers(unsigned index) {
  Variable &variable = variables[index];
  if (allUsersLow(variable)) {
    variable.state = Variable::Low;
    variable.reason = inLow("its users are ");
  } else {
    variable.reason = graph.getReason("a user is f32");
  }
}

void FirstOperand::run() {
  // Variables are in the order of their nodes, operands before users.
  for (unsigned index = 0; index < variables.size(); ++index)
    decide(index);
  for (unsigned index = variables.size(); index-- > 0;)
    if (isDerivedFromConstants[index])
      decideByUsers(index);
}

void decideByFirstOperand(PrecisionGraph &graph,
                          ArrayRef<NodePrecision> nodes) {
  FirstOperand(graph, nodes).run();
}

} // namespace mp
