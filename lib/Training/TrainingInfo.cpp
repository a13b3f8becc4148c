//===- TrainingInfo.cpp - The standard's training_info --------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Training/TrainingInfo.h"

#include "mp-opt/Dialect/MP/MP.h"
#include "mp-opt/Training/Losses.h"

#include "mlir/IR/TypeUtilities.h"
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
  LogicalResult moveNodes();
  void makeStates();
  FailureOr<BlockArgument> findState(StringRef name);
  LogicalResult bindUpdates();
  InFlightDiagnostic error() {
    return training.emitError() << "training_info " << number << ": ";
  }

  GraphOp graph;
  GraphEditor editor;
  NodeBuilder &b;
  TrainingOp training;
  int64_t number;
  /// Values of the main graph, and of the algorithm moved into it.
  llvm::StringMap<Value> values;
  /// Initializers that are the defaults of inputs.
  llvm::StringSet<> defaults;
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
      if (initializer.getOverridable()) {
        defaults.insert(initializer.getName());
        continue;
      }
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

LogicalResult TrainingInliner::moveNodes() {
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
        if (!values.try_emplace(name, result).second)
          return error() << "the algorithm defines '" << name
                         << "', which the model, or a training_info before, "
                         << "defines as well";
  }
  return success();
}

/// Initializers that are bound become inputs with defaults.
void TrainingInliner::makeStates() {
  SmallVector<InitializerOp> initializers;
  for (auto [key, name] : getBindings("update_binding"))
    if (Value state = values.lookup(key))
      if (auto initializer = state.getDefiningOp<InitializerOp>())
        if (defaults.insert(key).second)
          initializers.push_back(initializer);
  if (initializers.empty())
    return;
  for (BlockArgument input : editor.makeInputs(initializers))
    values[onnxir::getValueName(input)] = input;
}

/// The input that holds the state of this name between steps.
FailureOr<BlockArgument> TrainingInliner::findState(StringRef name) {
  Value state = values.lookup(name);
  if (!state)
    return error() << "update_binding: the model has no initializer '" << name
                   << "'";
  auto input = dyn_cast<BlockArgument>(state);
  if (!input || !defaults.contains(name))
    return error() << "update_binding: expected an initializer, got '" << name
                   << "'";
  if (llvm::any_of(input.getUsers(), [&](Operation *user) {
        auto update = dyn_cast<UpdateOp>(user);
        return update && update.getState() == input;
      }))
    return error() << "update_binding: '" << name << "' is bound twice";
  return input;
}

LogicalResult TrainingInliner::bindUpdates() {
  llvm::StringMap<Value> made;
  for (auto [name, value] : llvm::zip(outputNames, outputs))
    made[name] = value;
  b.setInsertionPointToEnd(&editor.getBlock());
  makeStates();
  SmallVector<Value> updates;
  llvm::StringSet<> bound;
  for (auto [key, name] : getBindings("update_binding")) {
    Value next = made.lookup(name);
    if (!next)
      return error() << "update_binding of '" << key << "': the algorithm has "
                     << "no output '" << name << "'";
    FailureOr<BlockArgument> found = findState(key);
    if (failed(found))
      return failure();
    BlockArgument state = *found;
    Type expected = state.getType();
    Type element = getTensorElementType(next.getType());
    if ((element && element != getTensorElementType(expected)) ||
        failed(verifyCompatibleShape(next.getType(), expected)))
      return error() << "update_binding of '" << key << "': expected "
                     << expected << ", got '" << name << "' of type "
                     << next.getType();
    next.setType(NodeTypes::refine(next.getType(), expected));
    auto update = UpdateOp::create(b.getBuilder(), training.getLoc(), expected,
                                   state, next, Value(), false,
                                   b.getBuilder().getI64IntegerAttr(number));
    // The value often already has the name of the next state.
    std::string nextName = (key + "_new").str();
    if (auto result = dyn_cast<OpResult>(next);
        result && onnxir::getValueName(next) == nextName) {
      b.rename(next, key + "_next");
      setValueName(cast<OpResult>(update.getResult()), nextName);
    } else {
      b.rename(update.getResult(), nextName);
    }
    updates.push_back(update.getResult());
    bound.insert(name);
  }
  if (bound.empty())
    return error() << "no update_binding: nothing would be trained";
  editor.addOutputs(updates);
  // Outputs without a binding, such as a loss, are results for the user.
  ValueRange known = editor.getYield().getValues();
  llvm::DenseSet<Value> results(known.begin(), known.end());
  for (auto [name, value] : llvm::zip(outputNames, outputs))
    if (!bound.contains(name) && results.insert(value).second)
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
  if (failed(moveNodes()))
    return failure();
  return bindUpdates();
}

LogicalResult inlineTraining(ModuleOp module, NodeBuilder &builder) {
  GraphOp graph = getMainGraph(module);
  if (module.getOps<TrainingOp>().empty())
    return module.emitError() << "the model has no training_info that says how "
                                 "it is trained, and no loss is given: add "
                                 "--loss=LOSS, one of "
                              << getLossNames();
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

} // namespace mp
