//===- TrainingPhases.cpp - Forward, backward, optimizer ------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Precision/Assignment/TrainingPhases.h"

#include "mp-opt/Dialect/MP/MP.h"
#include "mp-opt/Operators/OperatorTraits.h"

#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;
using namespace mp::onnxir;

namespace mp {

llvm::SetVector<Value> getAllInputs(Operation *op) {
  llvm::SetVector<Value> inputs;
  if (op->getNumRegions())
    getUsedValuesDefinedAbove(op->getRegions(), inputs);
  inputs.insert(op->operand_begin(), op->operand_end());
  return inputs;
}

/// True for ops that take gradients, or make the next state.
static bool endsBackward(Operation *op) {
  return isa<GradientOp, UpdateOp>(op) ||
         (getOperatorTraits(op).hasRole(OperandRole::InPlace) &&
          // The forward pass of a normalization updates its statistics.
          llvm::all_of(op->getResultTypes(), [](Type type) {
            Type element = getTensorElementType(type);
            return element && element.isInteger(1);
          }));
}

/// All nodes that the values in `queue` are computed from, except `known` ones.
static llvm::DenseSet<Operation *>
findProducers(std::vector<Value> queue,
              const llvm::DenseSet<Operation *> &known) {
  llvm::DenseSet<Operation *> found;
  while (!queue.empty()) {
    Operation *op = queue.back().getDefiningOp();
    queue.pop_back();
    if (!op || known.contains(op) || !found.insert(op).second)
      continue;
    llvm::SetVector<Value> inputs = getAllInputs(op);
    queue.insert(queue.end(), inputs.begin(), inputs.end());
  }
  return found;
}

llvm::DenseSet<Operation *> findForwardPass(GraphOp graph) {
  std::vector<Value> results;
  bool trains = false;
  for (Operation &op : graph.getBody().front()) {
    trains |= endsBackward(&op);
    if (auto seed = dyn_cast<LossSeedOp>(op))
      results.push_back(seed.getLoss());
  }
  if (!trains)
    return {};
  for (Value value : getYield(graph.getBody()).getValues())
    if (Operation *op = value.getDefiningOp(); op && !endsBackward(op))
      results.push_back(value);
  return findProducers(std::move(results), {});
}

TrainingPhases TrainingPhases::compute(GraphOp graph) {
  TrainingPhases phases;
  phases.block = &graph.getBody().front();
  phases.forward = findForwardPass(graph);
  if (!phases.trains())
    return phases;
  std::vector<Value> gradients, ends;
  for (Operation &op : *phases.block) {
    if (auto gradient = dyn_cast<GradientOp>(op))
      gradients.push_back(gradient.getGradient());
    else if (endsBackward(&op))
      ends.insert(ends.end(), op.operand_begin(), op.operand_end());
  }
  // If no op marks a gradient, any operand of an update may be one.
  phases.backward = findProducers(
      std::move(gradients.empty() ? ends : gradients), phases.forward);
  return phases;
}

TrainingPhase TrainingPhases::lookup(Operation *op) const {
  Operation *node = trains() ? block->findAncestorOpInBlock(*op) : nullptr;
  return !node || forward.contains(node) ? TrainingPhase::Forward
         : backward.contains(node)       ? TrainingPhase::Backward
                                         : TrainingPhase::Optimizer;
}

} // namespace mp
