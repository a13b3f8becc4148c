//===- ParameterArithmetic.cpp - Arithmetic on parameters stays fp32 ------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A training step has its parameters in fp32. Values computed from these alone
// (norms, weights divided by them, standardized weights) are as small as the
// parameters and computed once a step, so this arithmetic is fp32 up to the
// product that reads it. The same holds for gradients after the last product:
// weight normalization computes a difference of them in which most of both
// terms cancels.
//
//===----------------------------------------------------------------------===//

#include "AssignmentRules.h"

#include "mp-opt/Graph/Parameters.h"
#include "mp-opt/Precision/Analysis/Constants.h"
#include "mp-opt/Precision/Assignment/TrainingPhases.h"

using namespace mlir;
using namespace mp::onnxir;

namespace mp {

namespace {

using Variable = PrecisionGraph::Variable;

class ParameterArithmetic {
public:
  ParameterArithmetic(PrecisionGraph &graph, GraphOp scope);

  void run();

private:
  bool feedsProducts(Value value) const;
  void keep(Operation *node, StringRef reason);
  void findParameterNodes();
  void findGradientNodes();

  PrecisionGraph &graph;
  Block &block;
  /// Nodes of the forward pass; empty if the graph does not train.
  llvm::DenseSet<Operation *> forward;
  llvm::DenseMap<Operation *, SmallVector<unsigned, 2>> variablesOf;
  /// Values made of parameters and constants alone.
  llvm::DenseSet<Value> ofParameters;
  /// Nodes whose results a product with activations reads, perhaps after
  /// others.
  llvm::DenseSet<Operation *> feeders;
};

} // namespace

ParameterArithmetic::ParameterArithmetic(PrecisionGraph &graph, GraphOp scope)
    : graph(graph), block(scope.getBody().front()),
      forward(findForwardPass(scope)) {
  for (unsigned index = 0; index < graph.getVariables().size(); ++index)
    if (graph.getVariables()[index].kind == Variable::Node)
      variablesOf[graph.getNode(index)].push_back(index);
  // Parameters that are constants of the model are stored in 16 bit.
  for (Value parameter : collectParameters(scope))
    if (isa<BlockArgument>(parameter))
      ofParameters.insert(parameter);
}

static bool isPlainNode(Operation *op) {
  return isNode(op) && op->getNumRegions() == 0;
}

/// True for a product, or a node that may contain one.
static bool isProduct(Operation *node) {
  if (!isPlainNode(node))
    return true;
  switch (getOperatorTraits(node).kind) {
  case OperatorKind::Contraction:
  case OperatorKind::Gradient:
  case OperatorKind::Opaque:
  case OperatorKind::Quantization:
    return true;
  default:
    return false;
  }
}

/// True if a product with activations reads `value`, perhaps after other nodes.
bool ParameterArithmetic::feedsProducts(Value value) const {
  return llvm::any_of(value.getUsers(), [&](Operation *user) {
    if (user->getBlock() != &block || feeders.contains(user))
      return true;
    if (!isProduct(user))
      return false;
    return llvm::any_of(user->getOperands(), [&](Value other) {
      return other != value && !ofParameters.contains(other);
    });
  });
}

void ParameterArithmetic::keep(Operation *node, StringRef reason) {
  if (getOperatorTraits(node).has(Exact))
    return;
  for (unsigned index : variablesOf.lookup(node)) {
    Variable &variable = graph.getVariables()[index];
    if (variable.state != Variable::Free || variable.isAsked)
      continue;
    variable.state = Variable::F32;
    variable.reason = graph.getReason(reason);
  }
}

void ParameterArithmetic::findParameterNodes() {
  llvm::DenseSet<Value> constants;
  for (Operation &node : block) {
    if (isConstant(&node)) {
      ofParameters.insert_range(node.getResults());
      constants.insert_range(node.getResults());
      continue;
    }
    if (!isPlainNode(&node) ||
        getOperatorTraits(&node).kind == OperatorKind::Generation)
      continue;
    bool readsParameter = false, readsOther = false;
    for (Value operand : node.getOperands()) {
      bool isOfParameter = ofParameters.contains(operand);
      readsParameter |= isOfParameter && !constants.contains(operand);
      readsOther |= !isOfParameter;
    }
    if (readsOther)
      continue;
    ofParameters.insert_range(node.getResults());
    if (!readsParameter)
      constants.insert_range(node.getResults());
    else if (!isProduct(&node))
      keep(&node, "computes with parameters only");
  }
}

void ParameterArithmetic::findGradientNodes() {
  auto feeds = [&](Value result) { return feedsProducts(result); };
  for (Operation &op : llvm::reverse(block))
    if (llvm::any_of(op.getResults(), feeds))
      feeders.insert(&op);
  llvm::DenseSet<Value> ofGradients;
  for (Operation &node : block) {
    if (!isPlainNode(&node) || forward.contains(&node))
      continue;
    if (isProduct(&node)) {
      for (Value result : node.getResults())
        if (!feeds(result))
          ofGradients.insert(result);
      continue;
    }
    if (feeders.contains(&node))
      continue;
    bool readsGradient = false, readsOther = false;
    for (Value operand : node.getOperands()) {
      bool isGradient = ofGradients.contains(operand);
      readsGradient |= isGradient;
      readsOther |= !isGradient && !ofParameters.contains(operand);
    }
    if (readsOther || !readsGradient)
      continue;
    ofGradients.insert_range(node.getResults());
    keep(&node, "computes with gradients of parameters after the last product");
  }
}

void ParameterArithmetic::run() {
  if (forward.empty())
    return;
  findParameterNodes();
  findGradientNodes();
}

void keepParameterArithmetic(PrecisionGraph &graph, ModuleOp module) {
  for (auto scope : module.getOps<GraphOp>())
    ParameterArithmetic(graph, scope).run();
}

} // namespace mp
