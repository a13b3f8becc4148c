//===- TrainingStep.cpp - Training steps before compilation ---------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/API/Train/TrainingStep.h"

#include "mp-opt/Dialect/ONNX/GraphEditor.h"
#include "mp-opt/Operators/OperatorTraits.h"

#include "llvm/Support/Path.h"

using namespace llvm;
using namespace mp::onnxir;

namespace mp {

Expected<TrainingStep> TrainingStep::find(Model &model,
                                          const StringMap<int64_t> &dims) {
  auto inputs = model.getInputs(dims);
  if (!inputs)
    return inputs.takeError();
  StringSet<> outputs;
  for (const std::string &name : model.getOutputNames())
    outputs.insert(name);
  if (!outputs.contains(lossName))
    return createStringError(
        model.getName() +
        ": it is not a training step, since it has no output '" + lossName +
        "'; mp-opt " + sys::path::filename(model.getName()) +
        " --train --loss=... -o step.onnx makes one");
  TrainingStep step;
  for (const ModelValue &input : *inputs)
    step.isState.push_back(outputs.contains(input.name + "_new"));
  step.inputs = std::move(*inputs);
  return step;
}

/// True for nodes that update states and may overwrite their operands.
static bool isOfOptimizer(mlir::Operation *node) {
  return node && isNode(node) &&
         getOperatorTraits(node).kind == OperatorKind::Optimizer;
}

/// Nodes that draw random numbers or overwrite operands are kept even without
/// uses.
static bool isRemovable(mlir::Operation *node) {
  switch (getOperatorTraits(node).kind) {
  case OperatorKind::Opaque:
  case OperatorKind::Generation:
  case OperatorKind::ControlFlow:
  case OperatorKind::Optimizer:
  case OperatorKind::Communication:
    return false;
  default:
    return !node->hasAttr("seed") && !isStandardOp(node, "Dropout");
  }
}

void dropUnreadOutputs(Model &model, const TrainingStep &step) {
  StringSet<> read;
  read.insert(lossName);
  for (const ModelValue &state : step.getStates())
    read.insert(state.name + "_new");
  YieldOp yield = getYield(getMainGraph(model.getModule()).getBody());
  auto described = yield->getAttrOfType<mlir::ArrayAttr>(attr::outputs);
  SmallVector<mlir::Value> kept;
  SmallVector<mlir::Attribute> fields;
  for (const auto &[place, name] : llvm::enumerate(model.getOutputNames())) {
    mlir::Value value = yield->getOperand(place);
    bool isRead = read.contains(name) ||
                  StringRef(name).starts_with(lossPartPrefix) ||
                  isOfOptimizer(value.getDefiningOp());
    if (!isRead)
      continue;
    kept.push_back(value);
    if (described && place < described.size())
      fields.push_back(described[place]);
  }
  if (described)
    yield->setAttr(attr::outputs,
                   mlir::ArrayAttr::get(yield.getContext(), fields));
  yield->setOperands(kept);
  for (mlir::Operation &op :
       llvm::make_early_inc_range(llvm::reverse(*yield->getBlock())))
    if (isNode(&op) && op.use_empty() && isRemovable(&op))
      op.erase();
}

Error computeLikeTraining(Model &model, const StringMap<int64_t> &dims) {
  if (!is_contained(model.getOutputNames(), lossName))
    return Error::success();
  Expected<TrainingStep> step = TrainingStep::find(model, dims);
  if (!step)
    return step.takeError();
  YieldOp yield = getYield(getMainGraph(model.getModule()).getBody());
  bool hasOptimizer = any_of(yield->getOperands(), [](mlir::Value value) {
    return isOfOptimizer(value.getDefiningOp());
  });
  if (hasOptimizer || !step->getStates().empty())
    dropUnreadOutputs(model, *step);
  return Error::success();
}

std::vector<ModelValue> TrainingStep::getStates() const {
  std::vector<ModelValue> states;
  for (auto [input, isOne] : llvm::zip(inputs, isState))
    if (isOne)
      states.push_back(input);
  return states;
}

} // namespace mp
