//===- Assignment.cpp - The precision of every node -----------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Precision/Assignment/Assignment.h"

#include "AssignmentRules.h"
#include "QuantizedTypes.h"

using namespace mlir;
using namespace mp::onnxir;

namespace mp {

//===----------------------------------------------------------------------===//
// From variables to nodes
//===----------------------------------------------------------------------===//

using Variable = PrecisionGraph::Variable;

static NodePrecision::State getState(const Variable &variable) {
  if (variable.kind == Variable::NoFloat)
    return NodePrecision::Other;
  return variable.state == Variable::Low ? NodePrecision::Low
                                         : NodePrecision::F32;
}

static std::string describe(DecisionReason reason) {
  return reason ? describeReason(reason.text, reason.values) : "";
}

/// A node of several variables is 16 bit if all variables that could be are.
static void settleTied(NodePrecision &node, ArrayRef<int> nodeVariables,
                       ArrayRef<Variable> variables, StringRef lowName) {
  unsigned low = 0, all = 0;
  for (int variable : nodeVariables) {
    NodePrecision::State state = getState(variables[variable]);
    node.variables.push_back(state);
    if (state == NodePrecision::Other)
      continue;
    ++all;
    low += state == NodePrecision::Low;
    if (state == NodePrecision::F32 || low == all)
      node.reason = variables[variable].reason;
  }
  if (!all)
    return;
  node.state = low == all ? NodePrecision::Low : NodePrecision::F32;
  if (low && low < all)
    node.reason = {StringAttr::get(node.node->getContext(),
                                   Twine(low) + " of its " + Twine(all) +
                                       " joined values are " + lowName + "; " +
                                       describe(node.reason)),
                   {}};
}

llvm::Expected<Assignment>
Assignment::compute(ModuleOp module, Type lowType,
                    std::vector<NodePrecision> nodes,
                    const AssignmentOptions &options) {
  Assignment assignment;
  assignment.nodes = std::move(nodes);
  PrecisionGraph graph(module, lowType, assignment.nodes, options);
  keepInputArithmetic(graph);
  keepParameterArithmetic(graph, module);
  if (options.errorLimit)
    assignment.error = decideWithinError(graph);
  else if (options.rule == AssignmentRule::FirstOperand)
    decideByFirstOperand(graph, assignment.nodes);
  else if (llvm::Error failed = decideByMinimumCut(graph))
    return failed;
  ArrayRef<Variable> variables = graph.getVariables();
  for (auto [index, node] : llvm::enumerate(assignment.nodes)) {
    ArrayRef<int> nodeVariables = graph.getNodeVariables(index);
    if (nodeVariables.empty())
      continue;
    if (nodeVariables.size() > 1 ||
        variables[nodeVariables[0]].kind == Variable::Tied) {
      settleTied(node, nodeVariables, variables, graph.getLowName());
      continue;
    }
    node.state = getState(variables[nodeVariables[0]]);
    node.reason = variables[nodeVariables[0]].reason;
  }
  QuantizedTypes(graph).settle();
  assignment.cost = graph.getCost();
  for (const PrecisionGraph::ValueEntry &value : graph.getValues())
    assignment.f32Cost += 2 * graph.getLowBytes(value);
  return assignment;
}

} // namespace mp
