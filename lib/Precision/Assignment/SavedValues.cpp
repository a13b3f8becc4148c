//===- SavedValues.cpp - What is kept for the backward pass ---------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Precision/Assignment/SavedValues.h"

#include "mp-opt/Dialect/MP/MP.h"
#include "mp-opt/Operators/OperatorTraits.h"
#include "mp-opt/Precision/Analysis/Constants.h"
#include "mp-opt/Precision/Analysis/FloatSignature.h"

#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace mp::onnxir;

namespace mp {

/// True for what takes gradients, or makes the next state.
static bool endsBackward(Operation *op) {
  return isa<GradientOp, UpdateOp>(op) ||
         (getOperatorTraits(op).hasRole(OperandRole::InPlace) &&
          // The forward pass of a normalization updates its statistics.
          llvm::all_of(op->getResultTypes(), [](Type type) {
            Type element = getTensorElementType(type);
            return element && element.isInteger(1);
          }));
}

/// Operands, and what regions capture.
static llvm::SetVector<Value> getInputs(Operation *op) {
  llvm::SetVector<Value> inputs;
  if (op->getNumRegions())
    getUsedValuesDefinedAbove(op->getRegions(), inputs);
  inputs.insert(op->operand_begin(), op->operand_end());
  return inputs;
}

/// What the results that are for the user are computed from.
static llvm::DenseSet<Operation *> findForward(GraphOp graph) {
  std::vector<Value> queue;
  bool trains = false;
  for (Operation &op : graph.getBody().front()) {
    trains |= endsBackward(&op);
    if (auto seed = dyn_cast<LossSeedOp>(op))
      queue.push_back(seed.getLoss());
  }
  if (!trains)
    return {};
  for (Value value : onnxir::getYield(graph.getBody()).getValues())
    if (Operation *op = value.getDefiningOp(); op && !endsBackward(op))
      queue.push_back(value);
  llvm::DenseSet<Operation *> forward;
  while (!queue.empty()) {
    Operation *op = queue.back().getDefiningOp();
    queue.pop_back();
    if (!op || !forward.insert(op).second)
      continue;
    llvm::SetVector<Value> inputs = getInputs(op);
    queue.insert(queue.end(), inputs.begin(), inputs.end());
  }
  return forward;
}

/// True for inputs that come with every batch: the others have a default, are
/// updated, or are buffers and parameters of an optimizer elsewhere.
static llvm::DenseSet<Value> findData(GraphOp graph) {
  llvm::StringSet<> defaults;
  llvm::DenseSet<Value> states;
  for (Operation &op : graph.getBody().front()) {
    if (auto initializer = dyn_cast<InitializerOp>(op))
      defaults.insert(initializer.getName());
    if (auto gradient = dyn_cast<GradientOp>(op))
      states.insert(gradient.getParameter());
    if (auto update = dyn_cast<UpdateOp>(op))
      states.insert(update.getState());
  }
  llvm::DenseSet<Value> data;
  for (BlockArgument input : graph.getBody().getArguments())
    if (!defaults.contains(onnxir::getValueName(input)) &&
        !states.contains(input))
      data.insert(input);
  return data;
}

static bool readsSizeOnly(Operation *op) {
  return isStandardOp(op, "Shape") || isStandardOp(op, "Size");
}

SavedValues findSavedValues(GraphOp graph) {
  SavedValues saved;
  saved.forward = findForward(graph);
  if (saved.forward.empty())
    return saved;
  llvm::DenseSet<Value> varying = findData(graph);
  Region &body = graph.getBody();
  auto add = [&](Value value) {
    SavedValue entry{value, {}};
    for (OpOperand &use : value.getUses()) {
      Operation *user = body.findAncestorOpInRegion(*use.getOwner());
      if (user && !saved.forward.contains(user) && isNode(user) &&
          !readsSizeOnly(use.getOwner()))
        entry.uses.push_back(&use);
    }
    if (!entry.uses.empty() && isa<TensorType>(value.getType()))
      saved.values.push_back(std::move(entry));
  };
  for (BlockArgument input : body.getArguments())
    if (varying.contains(input))
      add(input);
  for (Operation &op : body.front()) {
    if (!saved.forward.contains(&op) || !isNode(&op) || isConstant(&op))
      continue;
    const OpSchema *schema = getSchema(&op);
    bool isRandom = schema && !schema->deterministic;
    if (!isRandom && llvm::none_of(getInputs(&op), [&](Value input) {
          return varying.contains(input);
        }))
      continue;
    for (Value result : op.getResults()) {
      varying.insert(result);
      add(result);
    }
  }
  return saved;
}

} // namespace mp
