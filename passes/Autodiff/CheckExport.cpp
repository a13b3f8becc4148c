//===- CheckExport.cpp - What an export for inference has settled ---------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Exporters write a model for inference by default. Its training step runs, but
// it is not the training step of the model in its framework. Only certain cases
// give a warning, one per kind.
//
//===----------------------------------------------------------------------===//

#include "Autodiff/Passes.h"

#include "mp-opt/Dialect/ONNX/GraphEditor.h"
#include "mp-opt/Operators/NodeView.h"

namespace mp {
#define GEN_PASS_DEF_CHECKEXPORT
#include "Autodiff/Passes.h.inc"
} // namespace mp

using namespace mlir;
using namespace mp;
using namespace mp::onnxir;

namespace {

struct CheckExport : public mp::impl::CheckExportBase<CheckExport> {
  using CheckExportBase::CheckExportBase;

  void runOnOperation() override;
};

} // namespace

/// The first names, in quotes, and the number of the others.
static std::string list(ArrayRef<std::string> names) {
  constexpr size_t most = 3;
  std::string text;
  for (const std::string &name : names.take_front(most))
    text += (text.empty() ? "'" : ", '") + name + "'";
  if (names.size() > most)
    text += " and " + std::to_string(names.size() - most) + " more";
  return text;
}

static std::string getName(Operation *node) {
  StringRef name = getNodeName(node);
  return (name.empty() ? onnxir::getValueName(node->getResult(0)) : name).str();
}

/// The names of nodes for which `isMeant` is true.
static std::vector<std::string>
findNodes(GraphOp graph, llvm::function_ref<bool(Operation *)> isMeant) {
  std::vector<std::string> names;
  graph.walk([&](Operation *op) {
    if (isNode(op) && isMeant(op))
      names.push_back(getName(op));
  });
  return names;
}

static bool usesStatistics(Operation *node) {
  return isStandardOp(node, "BatchNormalization") &&
         !NodeView(node).getFlag("training_mode");
}

/// True for a Dropout that is the identity in any runtime.
static bool dropsNothing(Operation *node) {
  if (!isStandardOp(node, "Dropout"))
    return false;
  if (hasOperand(node, 1) && getConstantFloat(node->getOperand(1)) == 0.0)
    return false;
  if (!hasOperand(node, 2))
    return true;
  auto trains = getConstantInts(node->getOperand(2));
  return trains && trains->size() == 1 && !trains->front();
}

/// True for a convolution that contains a folded BatchNormalization: torch's
/// exporters name folded parameters after the operator or the weight.
static bool hasFoldedStatistics(Operation *node) {
  if (!isStandardOp(node, "Conv") || !hasOperand(node, 2))
    return false;
  StringRef weight = onnxir::getValueName(node->getOperand(1)),
            bias = onnxir::getValueName(node->getOperand(2));
  constexpr StringLiteral folded = "onnx::Conv_";
  return (weight.starts_with(folded) && bias.starts_with(folded)) ||
         (weight.ends_with(".weight") && bias == (weight + "_bias").str());
}

/// The only batch size for which a Reshape of a batch of unknown size works;
/// absent if it takes others, too.
static std::optional<int64_t> getOnlyBatch(Operation *node) {
  if (!isStandardOp(node, "Reshape") || !hasOperand(node, 1))
    return std::nullopt;
  auto type = dyn_cast<RankedTensorType>(node->getOperand(0).getType());
  auto shape = getConstantInts(node->getOperand(1));
  if (!type || !shape || type.getRank() < 2 || !type.isDynamicDim(0) ||
      type.getNumDynamicDims() != 1)
    return std::nullopt;
  int64_t sample = 1, all = 1;
  for (int64_t size : type.getShape().drop_front())
    if (llvm::MulOverflow(sample, size, sample))
      return std::nullopt;
  for (int64_t size : *shape)
    if (size <= 0 || llvm::MulOverflow(all, size, all))
      return std::nullopt;
  return sample > 0 && all % sample == 0 ? std::optional(all / sample)
                                         : std::nullopt;
}

static void checkModes(GraphOp graph) {
  if (auto names = findNodes(graph, usesStatistics); !names.empty())
    graph.emitWarning()
        << "the statistics of " << names.size() << " BatchNormalization nodes ("
        << list(names) << ") stay as the model has them; exported from a model "
        << "in training mode they would learn: torch.onnx.export(..., "
        << "training=torch.onnx.TrainingMode.TRAINING, "
        << "do_constant_folding=False), Keras' model(x, training=True)";
  if (auto names = findNodes(graph, hasFoldedStatistics); !names.empty())
    graph.emitWarning() << "BatchNormalization was folded into " << names.size()
                        << " Conv nodes (" << list(names)
                        << "), and is not trained: "
                        << "torch.onnx.export(..., dynamo=False, "
                        << "training=torch.onnx.TrainingMode.TRAINING, "
                        << "do_constant_folding=False) keeps it";
  if (auto names = findNodes(graph, dropsNothing); !names.empty())
    graph.emitWarning()
        << names.size() << " Dropout nodes (" << list(names)
        << ") drop nothing: the model was exported for inference; "
        << "torch.onnx.export(..., "
        << "training=torch.onnx.TrainingMode.TRAINING) keeps them in training "
        << "mode";
}

static void checkBatch(GraphOp graph) {
  constexpr StringLiteral advice =
      "torch.onnx.export(..., dynamic_axes={...}), or dynamic_shapes with "
      "dynamo, or --dynamic-batch of export_torch.py, keeps the size open";
  std::optional<int64_t> batch;
  auto names = findNodes(graph, [&](Operation *node) {
    auto only = getOnlyBatch(node);
    batch = batch ? batch : only;
    return only.has_value();
  });
  if (!names.empty()) {
    graph.emitWarning() << "the step works for batches of " << *batch
                        << " only, though inputs have any: " << list(names)
                        << " reshape to constant sizes; " << advice;
    return;
  }
  GraphEditor editor(graph);
  std::vector<std::string> inputs;
  for (BlockArgument input : editor.getBlock().getArguments()) {
    auto type = dyn_cast<RankedTensorType>(input.getType());
    // An input with a default is a state or a parameter.
    if (!type || type.getRank() < 2 || editor.getDefault(input))
      continue;
    // The first axis is the batch only if all inputs have the same size there.
    if (type.isDynamicDim(0) || (batch && *batch != type.getDimSize(0)))
      return;
    batch = type.getDimSize(0);
    inputs.push_back(onnxir::getValueName(input).str());
  }
  if (!inputs.empty())
    graph.emitWarning() << "the step works for batches of " << *batch
                        << " only: inputs " << list(inputs)
                        << " have a fixed first axis; " << advice;
}

void CheckExport::runOnOperation() {
  GraphOp graph = getMainGraph(getOperation());
  if (!graph)
    return;
  checkModes(graph);
  checkBatch(graph);
  markAllAnalysesPreserved();
}
