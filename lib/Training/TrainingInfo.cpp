//===- TrainingInfo.cpp - The ONNX standard's training --------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Training/TrainingInfo.h"

#include "mp-opt/Autodiff/Autodiff.h"
#include "mp-opt/Dialect/MP/MP.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace mp::onnxir;

namespace mp {

//===----------------------------------------------------------------------===//
// Algorithms
//===----------------------------------------------------------------------===//

namespace {

/// Moves one entry's algorithm into the main graph.
class TrainingInliner {
public:
  TrainingInliner(GraphOp graph, NodeBuilder &builder, TrainingOp training,
                  int64_t number)
      : graph(graph), editor(graph), b(builder), training(training),
        number(number) {}

  LogicalResult run();

private:
  using Binding = std::pair<StringRef, StringRef>;

  SmallVector<Binding> getBindings(StringRef name);
  void collectNames();
  LogicalResult resolveOuter();
  LogicalResult bindInputs();
  void moveNodes();
  LogicalResult bindUpdates();
  InFlightDiagnostic error() {
    return training.emitError() << "training_info " << number << ": ";
  }

  GraphOp graph;
  GraphEditor editor;
  NodeBuilder &b;
  TrainingOp training;
  int64_t number;
  /// What the main graph, and what has moved into it, defines.
  llvm::StringMap<Value> values;
  /// The algorithm's outputs and their names.
  SmallVector<Value> outputs;
  SmallVector<std::string> outputNames;
};

} // namespace

SmallVector<TrainingInliner::Binding>
TrainingInliner::getBindings(StringRef name) {
  SmallVector<Binding> bindings;
  auto extra = training->getAttrOfType<DictionaryAttr>(attr::extra);
  auto list = extra ? extra.getAs<ArrayAttr>(name) : ArrayAttr();
  if (list)
    for (auto entry : list.getAsRange<DictionaryAttr>()) {
      auto key = entry.getAs<StringAttr>("key");
      auto value = entry.getAs<StringAttr>("value");
      bindings.emplace_back(key ? key.getValue() : "",
                            value ? value.getValue() : "");
    }
  return bindings;
}

void TrainingInliner::collectNames() {
  for (BlockArgument input : editor.getBlock().getArguments())
    values[onnxir::getValueName(input)] = input;
  for (Operation &op : editor.getBlock()) {
    if (auto initializer = dyn_cast<InitializerOp>(op))
      if (initializer.getOverridable())
        continue;
    for (Value result : op.getResults())
      if (StringRef name = onnxir::getValueName(result); !name.empty())
        values[name] = result;
  }
}

LogicalResult TrainingInliner::resolveOuter() {
  for (auto outer :
       llvm::make_early_inc_range(training.getAlgorithm().getOps<OuterOp>())) {
    Value value = values.lookup(outer.getName());
    if (!value)
      return error() << "the algorithm takes '" << outer.getName()
                     << "', which the model does not define";
    outer.getResult().replaceAllUsesWith(value);
    outer.erase();
  }
  return success();
}

LogicalResult TrainingInliner::bindInputs() {
  Block &algorithm = training.getAlgorithm().front();
  for (BlockArgument argument : algorithm.getArguments()) {
    std::string name = onnxir::getValueName(argument).str();
    Value value = values.lookup(name);
    if (!value)
      value = editor.addInput(name, argument.getType());
    else if (!isa<BlockArgument>(value))
      return error() << "the algorithm's input '" << name
                     << "' has the name of a value of the model";
    values[name] = value;
    argument.replaceAllUsesWith(value);
  }
  return success();
}

void TrainingInliner::moveNodes() {
  Block &algorithm = training.getAlgorithm().front();
  YieldOp yield = onnxir::getYield(training.getAlgorithm());
  for (auto [index, value] : llvm::enumerate(yield.getValues()))
    outputs.push_back(value);
  if (auto described = yield->getAttrOfType<ArrayAttr>(attr::outputs))
    for (Attribute entry : described) {
      auto fields = dyn_cast<DictionaryAttr>(entry);
      auto name = fields ? fields.getAs<StringAttr>("name") : StringAttr();
      outputNames.push_back(name ? name.str() : std::string());
    }
  outputNames.resize(outputs.size());
  yield.erase();
  Operation *end = editor.getYield();
  NodeTypes &types = b.getTypes();
  for (Operation &op : llvm::make_early_inc_range(algorithm)) {
    op.moveBefore(end);
    if (isNode(&op))
      types.inferResults(&op, {});
    for (Value result : op.getResults())
      if (StringRef name = onnxir::getValueName(result); !name.empty())
        values[name] = result;
  }
}

LogicalResult TrainingInliner::bindUpdates() {
  llvm::StringMap<Value> results;
  for (auto [name, value] : llvm::zip(outputNames, outputs))
    results[name] = value;
  b.setInsertionPointToEnd(&editor.getBlock());
  llvm::StringSet<> bound;
  for (auto [key, name] : getBindings("update_binding")) {
    Value next = results.lookup(name);
    if (!next)
      return error() << "update_binding of '" << key << "': the algorithm has "
                     << "no output '" << name << "'";
    Value state = values.lookup(key);
    if (!state)
      return error() << "update_binding: the model has no initializer '" << key
                     << "'";
    if (auto initializer = state.getDefiningOp<InitializerOp>())
      state = editor.makeInput(initializer);
    auto input = dyn_cast<BlockArgument>(state);
    if (!input || !editor.getDefault(input))
      return error() << "update_binding: expected an initializer, got '" << key
                     << "'";
    Type expected = state.getType();
    Type element = getTensorElementType(next.getType());
    if (element && element != getTensorElementType(expected))
      return error() << "update_binding of '" << key << "': expected "
                     << expected << ", got '" << name << "' of type "
                     << next.getType();
    next.setType(NodeTypes::refine(next.getType(), expected));
    values[key] = state;
    auto update = training::UpdateOp::create(
        b.getBuilder(), training.getLoc(), expected, state, next, Value(),
        false, b.getBuilder().getI64IntegerAttr(number));
    // Often the value has the name already that the next state is to have.
    std::string nextName = (key + "_new").str();
    if (auto result = dyn_cast<OpResult>(next);
        result && onnxir::getValueName(next) == nextName) {
      b.rename(next, key + "_next");
      setValueName(cast<OpResult>(update.getResult()), nextName);
    } else {
      b.rename(update.getResult(), nextName);
    }
    editor.addOutput(update.getResult());
    bound.insert(name);
  }
  if (bound.empty())
    return error() << "no update_binding: nothing would be trained";
  // What is not bound is for the user: a loss.
  for (auto [name, value] : llvm::zip(outputNames, outputs))
    if (!bound.contains(name) &&
        !llvm::is_contained(editor.getYield().getValues(), value))
      editor.addOutput(value);
  return success();
}

LogicalResult TrainingInliner::run() {
  if (training.getAlgorithm().empty())
    return error() << "it has no algorithm";
  if (!getBindings("initialization_binding").empty())
    training.emitWarning() << "training_info " << number
                           << ": its initialization is left out; states start "
                              "from the initializers";
  collectNames();
  if (failed(resolveOuter()) || failed(bindInputs()))
    return failure();
  moveNodes();
  return bindUpdates();
}

LogicalResult inlineTraining(ModuleOp module, NodeBuilder &builder) {
  GraphOp graph = getMainGraph(module);
  if (module.getOps<TrainingOp>().empty())
    return module.emitError() << "the model has no training_info that says how "
                                 "it is trained, and no loss is given";
  int64_t number = 0;
  for (auto training :
       llvm::make_early_inc_range(module.getOps<TrainingOp>())) {
    if (graph &&
        failed(TrainingInliner(graph, builder, training, number++).run()))
      return failure();
    training.erase();
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Gradient
//===----------------------------------------------------------------------===//

namespace {

/// One Gradient node.
class GradientExpander {
public:
  GradientExpander(GraphOp graph, NodeBuilder &builder, Operation *node)
      : graph(graph), b(builder), node(node) {}

  /// `values` are those of the graph so far; the gradients join them.
  LogicalResult run(llvm::StringMap<Value> &values);

private:
  LogicalResult findNamed(const llvm::StringMap<Value> &values);
  void substitute();
  void replaceResults(Gradients &gradients, llvm::StringMap<Value> &values);
  InFlightDiagnostic error() {
    return node->emitError() << describe(node) << ": ";
  }

  GraphOp graph;
  NodeBuilder &b;
  Operation *node;
  /// The values that xs and zs name, and the one that y names.
  SmallVector<Value> named;
  unsigned count = 0;
  Value y;
};

} // namespace

static SmallVector<std::string> getNames(Operation *node, StringRef name) {
  SmallVector<std::string> names;
  if (auto list = node->getAttrOfType<ArrayAttr>(name))
    for (Attribute entry : list)
      if (auto text = dyn_cast<StringAttr>(entry))
        names.push_back(text.str());
  return names;
}

LogicalResult
GradientExpander::findNamed(const llvm::StringMap<Value> &values) {
  SmallVector<std::string> xs = getNames(node, "xs"), zs = getNames(node, "zs");
  count = xs.size();
  if (node->getNumOperands() != xs.size() + zs.size() ||
      node->getNumResults() > xs.size())
    return error() << "expected an operand for each of the " << xs.size()
                   << " names in xs and the " << zs.size()
                   << " in zs, and no more results than xs, got "
                   << node->getNumOperands() << " and "
                   << node->getNumResults();
  xs.append(zs);
  for (const std::string &name : xs) {
    named.push_back(values.lookup(name));
    if (!named.back())
      return error() << "it names '" << name << "', which the model does not "
                     << "define";
  }
  StringRef target = getString(node, "y", "");
  y = values.lookup(target);
  if (!y)
    return error() << "it names '" << target << "', which the model does not "
                   << "define";
  auto type = dyn_cast<RankedTensorType>(y.getType());
  if (!isDifferentiable(y) || !type ||
      llvm::any_of(type.getShape(), [](int64_t size) { return size != 1; }))
    return error() << "expected a scalar float to differentiate, got '"
                   << target << "' of type " << y.getType();
  for (unsigned index = 0; index < count; ++index)
    if (hasResult(node, index) && !isDifferentiable(named[index]))
      return error() << "cannot differentiate with respect to '" << xs[index]
                     << "' of type " << named[index].getType();
  return success();
}

/// The operands may be others than the named values: the function is that of
/// the graph, at another point.
void GradientExpander::substitute() {
  IRMapping mapping;
  for (auto [value, operand] : llvm::zip(named, node->getOperands()))
    mapping.map(value, operand);
  llvm::SetVector<Operation *> needed;
  std::vector<Value> queue{y};
  while (!queue.empty()) {
    Value value = queue.back();
    queue.pop_back();
    Operation *op = value.getDefiningOp();
    if (mapping.contains(value) || !op || !isNode(op) || !needed.insert(op))
      continue;
    auto inputs = getCaptured(op);
    inputs.insert(op->operand_begin(), op->operand_end());
    queue.insert(queue.end(), inputs.begin(), inputs.end());
  }
  SmallVector<Operation *> order(needed.begin(), needed.end());
  llvm::sort(order,
             [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  for (Operation *op : order) {
    Operation *copy = b.getBuilder().clone(*op, mapping);
    if (!getNodeName(op).empty())
      copy->setAttr(attr::name, b.getBuilder().getStringAttr(
                                    b.getNames().getNodeName(getNodeName(op))));
    for (OpResult result : copy->getResults())
      if (StringRef name = onnxir::getValueName(result); !name.empty())
        setValueName(result, b.getNames().getValueName(name));
  }
  named.assign(node->operand_begin(), node->operand_end());
  y = mapping.lookupOrDefault(y);
}

void GradientExpander::replaceResults(Gradients &gradients,
                                      llvm::StringMap<Value> &values) {
  for (OpResult result : node->getResults()) {
    if (isa<NoneType>(result.getType()))
      continue;
    Value parameter = named[result.getResultNumber()];
    Value gradient = gradients.lookup(parameter);
    if (!gradient)
      gradient = b.zerosLike(parameter);
    auto marker =
        training::GradientOp::create(b.getBuilder(), node->getLoc(),
                                     gradient.getType(), gradient, parameter);
    std::string name = onnxir::getValueName(result).str();
    setValueName(result, b.getNames().getValueName(name + "_replaced"));
    setValueName(cast<OpResult>(marker.getResult()), name);
    result.replaceAllUsesWith(marker.getResult());
    values[name] = marker.getResult();
  }
  node->erase();
}

LogicalResult GradientExpander::run(llvm::StringMap<Value> &values) {
  if (failed(findNamed(values)))
    return failure();
  b.setInsertionPoint(node);
  if (!llvm::equal(named, node->getOperands()))
    substitute();
  auto seed = training::LossSeedOp::create(b.getBuilder(), node->getLoc(),
                                           y.getType(), y);
  b.rename(seed.getResult(), onnxir::getValueName(y) + "_grad");
  DifferentiationRequest request;
  request.block = &graph.getBody().front();
  request.seeds.emplace_back(y, seed.getResult());
  for (unsigned index = 0; index < count; ++index)
    if (hasResult(node, index))
      request.wanted.push_back(named[index]);
  FailureOr<Gradients> gradients = differentiate(b, request);
  if (failed(gradients))
    return failure();
  replaceResults(*gradients, values);
  return success();
}

LogicalResult expandGradients(GraphOp graph, NodeBuilder &builder) {
  llvm::StringMap<Value> values;
  Block &block = graph.getBody().front();
  for (BlockArgument input : block.getArguments())
    values[onnxir::getValueName(input)] = input;
  NodeTypes &types = builder.getTypes();
  for (Operation &op : llvm::make_early_inc_range(block)) {
    if (auto initializer = dyn_cast<InitializerOp>(op))
      if (initializer.getOverridable())
        continue;
    if (isNode(&op) && getDomain(&op) == "ai.onnx.preview.training" &&
        getOpType(&op) == "Gradient") {
      if (failed(GradientExpander(graph, builder, &op).run(values)))
        return failure();
      continue;
    }
    // What comes behind a gradient has had no type before.
    if (isNode(&op))
      types.inferResults(&op, {});
    for (Value result : op.getResults())
      if (StringRef name = onnxir::getValueName(result); !name.empty())
        values[name] = result;
  }
  return success();
}

} // namespace mp
