//===- Differentiate.cpp - Add the backward pass of a loss ----------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What is trained becomes an input first, so that the rules find the graph in
// the form that it will have; then one walk writes the gradients behind the
// forward pass.
//
//===----------------------------------------------------------------------===//

#include "Autodiff/Passes.h"

#include "mp-opt/Autodiff/Autodiff.h"
#include "mp-opt/Dialect/ONNX/GraphEditor.h"
#include "mp-opt/Training/Parameters.h"

#include "llvm/Support/Regex.h"

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
  FailureOr<Value> findLoss(GraphOp graph);
  FailureOr<SmallVector<Value>> findParameters(GraphOp graph, Value loss);
  LogicalResult selectNamed(GraphOp graph, SmallVector<Value> &parameters);
  LogicalResult selectTrained(GraphOp graph, Value loss,
                              SmallVector<Value> &parameters);
};

} // namespace

/// The value that the main graph defines under this name.
static Value findValue(GraphOp graph, StringRef name) {
  Block &block = graph.getBody().front();
  for (BlockArgument input : block.getArguments())
    if (onnxir::getValueName(input) == name)
      return input;
  for (Operation &op : block)
    for (Value result : op.getResults())
      if (onnxir::getValueName(result) == name && !isa<YieldOp>(op))
        if (auto initializer = dyn_cast<InitializerOp>(op);
            !initializer || !initializer.getOverridable())
          return result;
  return {};
}

FailureOr<Value> Differentiate::findLoss(GraphOp graph) {
  std::string name = loss;
  if (name.empty())
    if (auto marked = graph->getAttrOfType<StringAttr>("mp.loss"))
      name = marked.str();
  if (name.empty())
    return graph.emitError() << "there is no loss to differentiate";
  Value value = findValue(graph, name);
  if (!value)
    return graph.emitError()
           << "loss '" << name << "': the graph has no value of this name";
  if (!isDifferentiable(value))
    return graph.emitError()
           << "loss '" << name << "': expected a float tensor, got "
           << value.getType();
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type)
    return graph.emitError()
           << "loss '" << name << "': expected a scalar, got a tensor of "
           << "unknown rank";
  if (llvm::any_of(type.getShape(), [](int64_t size) { return size != 1; }))
    return graph.emitError()
           << "loss '" << name << "': expected a scalar, got " << type;
  return value;
}

//===----------------------------------------------------------------------===//
// Parameters
//===----------------------------------------------------------------------===//

/// Values that the loss depends on, however.
static llvm::DenseSet<Value> findAncestors(Value loss) {
  llvm::DenseSet<Value> found{loss};
  std::vector<Value> queue{loss};
  while (!queue.empty()) {
    Operation *op = queue.back().getDefiningOp();
    queue.pop_back();
    if (!op)
      continue;
    auto inputs = getCaptured(op);
    inputs.insert(op->operand_begin(), op->operand_end());
    for (Value input : inputs)
      if (found.insert(input).second)
        queue.push_back(input);
  }
  return found;
}

LogicalResult Differentiate::selectNamed(GraphOp graph,
                                         SmallVector<Value> &parameters) {
  for (const std::string &name : wrt) {
    Value value = findValue(graph, name);
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
  return success();
}

/// True where a node reads its statistics, which it learns by itself.
static bool isStatistic(OpOperand &use) {
  const OpSchema *schema = getSchema(use.getOwner());
  const FormalParameter *formal =
      schema ? schema->getInput(use.getOperandNumber()) : nullptr;
  return formal &&
         llvm::is_contained({"input_mean", "input_var", "mean", "var"},
                            formal->name);
}

/// True for what training changes: a float of 32 or 64 bits, no scalar.
static bool isTrainable(Value value) {
  if (llvm::all_of(value.getUses(), isStatistic))
    return false;
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type && type.getRank() >= 1 &&
         (type.getElementType().isF32() || type.getElementType().isF64());
}

LogicalResult Differentiate::selectTrained(GraphOp graph, Value loss,
                                           SmallVector<Value> &parameters) {
  std::vector<std::pair<llvm::Regex, bool>> patterns;
  for (const std::string &text : freeze) {
    llvm::Regex pattern("^(" + text + ")$");
    std::string error;
    if (!pattern.isValid(error))
      return graph.emitError() << "freeze pattern '" << text << "': " << error;
    patterns.emplace_back(std::move(pattern), false);
  }
  llvm::DenseSet<Value> ancestors = findAncestors(loss);
  GraphEditor editor(graph);
  llvm::StringMap<Value> inputs;
  for (BlockArgument input : editor.getBlock().getArguments())
    inputs[onnxir::getValueName(input)] = input;
  for (auto initializer : editor.getBlock().getOps<InitializerOp>()) {
    Value value = initializer.getOverridable()
                      ? inputs.lookup(initializer.getName())
                      : Value(initializer.getResult());
    if (!value || !isTrainable(value) || !initializer.getValueAttr())
      continue;
    // Its states are as large as its default.
    if (!cast<ShapedType>(value.getType()).hasStaticShape())
      value.setType(initializer.getResult().getType());
    bool isFrozen = false;
    for (auto &[pattern, isUsed] : patterns)
      if (pattern.match(initializer.getName()))
        isFrozen = isUsed = true;
    if (isFrozen || !ancestors.contains(value))
      continue;
    if (failed(checkFinite(initializer)))
      return failure();
    parameters.push_back(value);
  }
  for (auto [text, pattern] : llvm::zip(freeze, patterns))
    if (!pattern.second)
      return graph.emitError()
             << "freeze pattern '" << text << "' matches no parameter";
  if (parameters.empty())
    return graph.emitError() << "the loss '" << onnxir::getValueName(loss)
                             << "' depends on no parameter";
  return success();
}

FailureOr<SmallVector<Value>> Differentiate::findParameters(GraphOp graph,
                                                            Value loss) {
  SmallVector<Value> parameters;
  if (failed(wrt.empty() ? selectTrained(graph, loss, parameters)
                         : selectNamed(graph, parameters)))
    return failure();
  GraphEditor editor(graph);
  SmallVector<InitializerOp> initializers;
  for (Value value : parameters)
    if (auto initializer = value.getDefiningOp<InitializerOp>())
      initializers.push_back(initializer);
  if (wrt.empty() && !initializers.empty()) {
    auto inputs = editor.makeInputs(initializers);
    for (Value &value : parameters)
      if (value.getDefiningOp()) {
        value = inputs.front();
        inputs = inputs.drop_front();
      }
  }
  return parameters;
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

/// What training changes beside the parameters: running statistics. Each
/// becomes an input with its value as default, and gets its update.
static void addStatistics(GraphOp graph, NodeBuilder &builder) {
  GraphEditor editor(graph);
  for (Operation &node : llvm::make_early_inc_range(editor.getBlock())) {
    bool updates = isStandardOp(&node, "BatchNormalization") &&
                   getInt(&node, "training_mode", 0);
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
      builder.setInsertionPointToEnd(&editor.getBlock());
      auto update = training::UpdateOp::create(
          builder.getBuilder(), node.getLoc(), state, node.getResult(index));
      builder.rename(update, onnxir::getValueName(state) + "_new");
      editor.addOutput(update);
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
  FailureOr<Value> loss = findLoss(graph);
  if (failed(loss))
    return signalPassFailure();
  FailureOr<SmallVector<Value>> parameters = findParameters(graph, *loss);
  if (failed(parameters))
    return signalPassFailure();

  NodeBuilder builder(module);
  GraphEditor editor(graph);
  builder.setInsertionPointToEnd(&editor.getBlock());
  Location loc = graph.getLoc();
  auto seed = training::LossSeedOp::create(builder.getBuilder(), loc,
                                           loss->getType(), *loss);
  builder.rename(seed.getResult(), onnxir::getValueName(*loss) + "_grad");
  DifferentiationRequest request;
  request.block = &editor.getBlock();
  request.seeds.emplace_back(*loss, seed.getResult());
  request.wanted = *parameters;
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
    auto marker = training::GradientOp::create(
        builder.getBuilder(), loc, gradient.getType(), gradient, parameter);
    builder.rename(marker.getResult(),
                   onnxir::getValueName(parameter) + "_grad");
    found.push_back(marker.getResult());
  }
  if (outputs)
    editor.addOutputs(found);
  if (wrt.empty())
    addStatistics(graph, builder);
}
