//===- Assignment.cpp - The precision of every node -----------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Precision/Assignment/Assignment.h"

#include "AssignmentRules.h"

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

/// A node of several slots is 16 bit if all slots that could be are.
static void settleJoint(NodePrecision &node, ArrayRef<int> slots,
                        ArrayRef<Variable> variables, StringRef lowName) {
  unsigned low = 0, all = 0;
  for (int slot : slots) {
    NodePrecision::State state = getState(variables[slot]);
    node.slots.push_back(state);
    if (state == NodePrecision::Other)
      continue;
    ++all;
    low += state == NodePrecision::Low;
    if (state == NodePrecision::F32 || low == all)
      node.reason = variables[slot].reason;
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
  if (options.rule == AssignmentRule::FirstOperand)
    decideByFirstOperand(graph, assignment.nodes);
  else if (llvm::Error failed = decideByMinimumCut(graph))
    return failed;
  ArrayRef<Variable> variables = graph.getVariables();
  for (auto [index, node] : llvm::enumerate(assignment.nodes)) {
    ArrayRef<int> slots = graph.getSlots(index);
    if (slots.empty())
      continue;
    if (slots.size() > 1 || variables[slots[0]].kind == Variable::Joint) {
      settleJoint(node, slots, variables, graph.getLowName());
      continue;
    }
    node.state = getState(variables[slots[0]]);
    node.reason = variables[slots[0]].reason;
  }
  assignment.cost = graph.getCost();
  return assignment;
}

} // namespace mp
