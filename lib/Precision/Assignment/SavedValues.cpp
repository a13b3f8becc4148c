//===- SavedValues.cpp - Values kept for the backward pass ----------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Precision/Assignment/SavedValues.h"

#include "mp-opt/Dialect/MP/MP.h"
#include "mp-opt/Precision/Analysis/Constants.h"
#include "mp-opt/Precision/Analysis/FloatSignature.h"
#include "mp-opt/Precision/Assignment/TrainingPhases.h"

#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace mp::onnxir;

namespace mp {

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
  saved.forward = findForwardPass(graph);
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
    if (!isRandom && llvm::none_of(getAllInputs(&op), [&](Value input) {
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
