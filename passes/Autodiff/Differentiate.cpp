//===- Differentiate.cpp - Add the backward pass of a loss ----------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A single walk adds the gradients after the forward pass.
//
//===----------------------------------------------------------------------===//

#include "Autodiff/Passes.h"

#include "mp-opt/Autodiff/Autodiff.h"
#include "mp-opt/Dialect/ONNX/GraphEditor.h"
#include "mp-opt/Operators/NodeView.h"
#include "mp-opt/Training/GradientStops.h"
#include "mp-opt/Training/ParameterTable.h"
#include "mp-opt/Training/Parameters.h"

namespace mp {
#define GEN_PASS_DEF_DIFFERENTIATE
#include "Autodiff/Passes.h.inc"
} // namespace mp

using namespace mlir;
using namespace mp;
using namespace mp::onnxir;

namespace {

struct Differentiate : public mp::impl::DifferentiateBase<Differentiate> {
  using DifferentiateBase::DifferentiateBase;

  void runOnOperation() override;

private:
  FailureOr<SmallVector<Value>> findParameters(GraphOp graph);
};

} // namespace

//===----------------------------------------------------------------------===//
// Parameters
//===----------------------------------------------------------------------===//

FailureOr<SmallVector<Value>> Differentiate::findParameters(GraphOp graph) {
  SmallVector<Value> parameters;
  SmallVector<StringRef> names(wrt.begin(), wrt.end());
  if (auto marked = graph->getAttrOfType<ArrayAttr>(mark::trained);
      marked && names.empty())
    for (auto name : marked.getAsRange<StringAttr>())
      names.push_back(name);
  if (names.empty())
    return graph.emitError() << "there is nothing to differentiate with "
                             << "respect to: mp-select-parameters comes first";
  llvm::StringMap<Value> values = findValues(graph);
  for (StringRef name : names) {
    Value value = values.lookup(name);
    if (!value)
      return graph.emitError() << "'" << name << "' cannot be differentiated "
                               << "with respect to: the graph has no value of "
                               << "this name";
    if (!isDifferentiable(value))
      return graph.emitError() << "'" << name << "' cannot be differentiated "
                               << "with respect to: expected a float tensor, "
                               << "got " << value.getType();
    parameters.push_back(value);
  }
  return parameters;
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

/// The model's key for running variances of torch, "unbiased".
static constexpr StringLiteral varianceKey = "mp-opt.running_var";

/// The new variance of `node`, with the batch's variance divided by one element
/// less, like in torch. A batch of one element per channel has no variance. The
/// old variance is divided by that factor before the node, since runtimes write
/// the new one over it.
static Value makeUnbiased(NodeBuilder &b, Operation *node, unsigned index) {
  Value state = node->getOperand(index + 2), next = node->getResult(index);
  b.setInsertionPoint(node);
  b.setBase(onnxir::getValueName(state));
  auto size = [&](Value of) {
    return b.castLike(b.create("Size", {of}), state);
  };
  Value count = b.div(size(node->getOperand(0)), size(state));
  Value less =
      b.create("Max", {b.addScalar(count, -1), b.scalarLike(1, count)});
  node->setOperand(index + 2, b.mul(state, b.div(less, count)));
  Value factor = b.div(count, less);
  b.setInsertionPointAfter(node);
  return b.mul(next, factor);
}

/// Turns `state` into an input with its value as default, and adds its update.
static void addUpdate(GraphEditor &editor, NodeBuilder &builder, Value state,
                      Value next) {
  builder.setInsertionPointToEnd(&editor.getBlock());
  auto update =
      UpdateOp::create(builder.getBuilder(), next.getLoc(), state, next);
  builder.rename(update, onnxir::getValueName(state) + "_new");
  editor.addOutput(update);
}

/// Adds updates of buffers that the model itself updates. The value before the
/// Identity is as exact as the model computes it.
static void addBuffers(GraphOp graph, NodeBuilder &builder,
                       ArrayRef<Value> parameters) {
  GraphEditor editor(graph);
  llvm::SmallDenseSet<Value> trained(llvm::from_range, parameters);
  llvm::StringMap<Value> values = findValues(graph);
  for (Operation &node : llvm::make_early_inc_range(editor.getBlock())) {
    auto name = node.getAttrOfType<StringAttr>(mark::nextBuffer);
    Value state = name ? values.lookup(name) : Value();
    if (!state)
      continue;
    if (auto initializer = state.getDefiningOp<InitializerOp>())
      state = editor.makeInput(initializer);
    if (!isa<BlockArgument>(state) || trained.contains(state))
      continue;
    Value next = node.getOperand(0);
    builder.setInsertionPoint(&node);
    // Sizes that inference did not find are those of the buffer.
    if (next.getType() != state.getType())
      next = builder.create("Identity", {next}, {}, state.getType());
    addUpdate(editor, builder, state, next);
  }
}

/// Adds updates of the running statistics of each BatchNormalization.
static void addStatistics(GraphOp graph, NodeBuilder &builder) {
  GraphEditor editor(graph);
  bool isMarked = getModelMetadata(graph->getParentOfType<ModuleOp>(),
                                   varianceKey) == StringRef("unbiased");
  for (Operation &node : llvm::make_early_inc_range(editor.getBlock())) {
    bool updates = isStandardOp(&node, "BatchNormalization") &&
                   NodeView(&node).getFlag("training_mode");
    if (!updates)
      continue;
    for (unsigned index : {1, 2}) {
      if (!hasResult(&node, index) || !hasOperand(&node, index + 2))
        continue;
      Value state = node.getOperand(index + 2);
      if (auto initializer = state.getDefiningOp<InitializerOp>())
        state = editor.makeInput(initializer);
      if (!isa<BlockArgument>(state))
        continue;
      Value next = node.getResult(index);
      // Nodes of torch's newer exporter have an attribute for this.
      bool isUnbiased = isMarked || getNodeMetadata(&node, fxNodeKey);
      if (index == 2 && isUnbiased)
        next = makeUnbiased(builder, &node, index);
      addUpdate(editor, builder, state, next);
    }
  }
}

void Differentiate::runOnOperation() {
  ModuleOp module = getOperation();
  GraphOp graph = getMainGraph(module);
  if (!graph)
    return;
  if (getOpset(module, "").value_or(1) < minDifferentiableOpset) {
    graph.emitError() << "differentiation needs opset "
                      << minDifferentiableOpset << " or newer, got "
                      << getOpset(module, "").value_or(1);
    return signalPassFailure();
  }
  FailureOr<Value> loss = findLoss(graph, this->loss);
  if (failed(loss))
    return signalPassFailure();
  FailureOr<SmallVector<Value>> parameters = findParameters(graph);
  if (failed(parameters))
    return signalPassFailure();

  NodeBuilder builder(module);
  GraphEditor editor(graph);
  builder.setInsertionPointToEnd(&editor.getBlock());
  Location loc = graph.getLoc();
  auto seed =
      LossSeedOp::create(builder.getBuilder(), loc, loss->getType(), *loss);
  builder.rename(seed.getResult(), onnxir::getValueName(*loss) + "_grad");
  DifferentiationRequest request;
  request.block = &editor.getBlock();
  request.seeds.emplace_back(*loss, seed.getResult());
  request.wanted = *parameters;
  request.options.straightThrough = straightThrough;
  request.trains = wrt.empty();
  FailureOr<Gradients> gradients = differentiate(builder, request);
  if (failed(gradients))
    return signalPassFailure();
  SmallVector<Value> found;
  for (Value parameter : request.wanted) {
    Value gradient = gradients->lookup(parameter);
    if (!gradient) {
      graph.emitError() << "parameter '" << onnxir::getValueName(parameter)
                        << "': the loss depends on it only through operators "
                        << "without a derivative";
      return signalPassFailure();
    }
    auto marker = GradientOp::create(builder.getBuilder(), loc,
                                     gradient.getType(), gradient, parameter);
    builder.rename(marker.getResult(),
                   onnxir::getValueName(parameter) + "_grad");
    found.push_back(marker.getResult());
  }
  if (outputs)
    editor.addOutputs(found);
  if (wrt.empty()) {
    addStatistics(graph, builder);
    addBuffers(graph, builder, request.wanted);
  }
  graph.walk([](Operation *op) {
    op->removeDiscardableAttr(mark::stopGradient);
    op->removeDiscardableAttr(mark::paddingIndex);
    op->removeDiscardableAttr(mark::nextBuffer);
  });
}
