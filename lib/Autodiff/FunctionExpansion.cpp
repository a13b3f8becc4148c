//===- FunctionExpansion.cpp - Expansion of functions ---------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Only nodes that gradients pass are rewritten; all others stay operators for
// which runtimes have kernels.
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Autodiff/Autodiff.h"
#include "mp-opt/Autodiff/Decompositions.h"
#include "mp-opt/Graph/FunctionBodies.h"

using namespace mlir;
using namespace mp::onnxir;

namespace mp {

/// The nesting depth of ONNX's functions is below this, and none calls itself.
static constexpr unsigned maxRounds = 16;

SmallVector<Operation *>
findNodesOnPath(const DifferentiationRequest &request) {
  llvm::DenseSet<Value> active = findDependents(*request.block, request.wanted);
  llvm::DenseSet<Value> needed;
  for (auto &[value, gradient] : request.seeds)
    needed.insert(value);
  SmallVector<Operation *> found;
  for (Operation &op : llvm::reverse(*request.block)) {
    auto isActive = [&](Value value) { return active.contains(value); };
    auto isOnPath = [&](Value result) {
      return isActive(result) && needed.contains(result);
    };
    if (!isNode(&op) || llvm::none_of(op.getResults(), isOnPath))
      continue;
    llvm::SetVector<Value> inputs = getGradientInputs(&op);
    if (llvm::none_of(inputs, isActive))
      continue;
    found.push_back(&op);
    needed.insert(inputs.begin(), inputs.end());
  }
  return found;
}

/// An operation outside of any block that uses the values of `request`, so that
/// replacements of these are visible.
static Operation *hold(NodeBuilder &builder,
                       const DifferentiationRequest &request) {
  OperationState state(UnknownLoc::get(builder.getContext()),
                       YieldOp::getOperationName());
  state.addOperands(request.wanted);
  for (auto &[value, gradient] : request.seeds)
    state.addOperands({value, gradient});
  return Operation::create(state);
}

static void release(Operation *holder, DifferentiationRequest &request) {
  OperandRange values = holder->getOperands();
  for (Value &value : request.wanted) {
    value = values.front();
    values = values.drop_front();
  }
  for (auto &[value, gradient] : request.seeds) {
    value = values[0];
    gradient = values[1];
    values = values.drop_front(2);
  }
  holder->destroy();
}

static LogicalResult expand(NodeBuilder &builder, Operation *node) {
  if (const Decomposition *decomposition = findDecomposition(node))
    return decompose(builder, node, *decomposition);
  return expandFunctionBody(builder, node);
}

LogicalResult expandFunctions(NodeBuilder &builder,
                              DifferentiationRequest &request) {
  std::string base = builder.getBase().str();
  for (unsigned round = 0; round < maxRounds; ++round) {
    SmallVector<Operation *> nodes = findNodesOnPath(request);
    llvm::erase_if(nodes, [](Operation *node) {
      return findGradientRule(node) ||
             (!findDecomposition(node) && !hasFunctionBody(node));
    });
    if (nodes.empty())
      break;
    Operation *holder = hold(builder, request);
    LogicalResult result = success();
    for (Operation *node : nodes) {
      OpBuilder::InsertionGuard guard(builder.getBuilder());
      result = expand(builder, node);
      if (failed(result))
        break;
    }
    release(holder, request);
    if (failed(result))
      return failure();
  }
  builder.setBase(base);
  return success();
}

} // namespace mp
