//===- ModelRules.cpp - Versions, functions, training_info ----------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ModelRules.h"
#include "NodeRules.h"

#include "mp-opt/Schema/Schema.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using Function = ::onnx::FunctionProto;

namespace mp {

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

static std::string makeName(StringRef domain, StringRef name) {
  return (normalizeDomain(domain) + "\n" + name).str();
}

static std::string makeName(StringRef domain, StringRef name,
                            StringRef overload) {
  return makeName(domain, name) + "\n" + overload.str();
}

LocalFunctions::LocalFunctions(const ::onnx::ModelProto &model) : model(model) {
  for (const Function &function : model.functions()) {
    domains.insert(normalizeDomain(function.domain()));
    byName.try_emplace(makeName(function.domain(), function.name()), &function);
    byOverload.try_emplace(
        makeName(function.domain(), function.name(), function.overload()),
        &function);
  }
}

bool LocalFunctions::hasName(const ::onnx::NodeProto &node) const {
  return !byName.empty() &&
         byName.contains(makeName(node.domain(), node.op_type()));
}

const Function *LocalFunctions::lookup(const ::onnx::NodeProto &node) const {
  if (byOverload.empty())
    return nullptr;
  return byOverload.lookup(
      makeName(node.domain(), node.op_type(), node.overload()));
}

static InFlightDiagnostic functionError(const Function &function,
                                        Location loc) {
  return emitError(loc) << "function '"
                        << getQualifiedName(function.domain(), function.name())
                        << "': ";
}

/// The first name that a list has twice.
template <typename Names>
static std::optional<StringRef> findTwice(const Names &names) {
  llvm::StringSet<> seen;
  for (StringRef name : names)
    if (!seen.insert(name).second)
      return name;
  return std::nullopt;
}

LogicalResult LocalFunctions::checkLists(const Function &function,
                                         Location loc) const {
  SmallVector<StringRef> attributes(function.attribute().begin(),
                                    function.attribute().end());
  for (const ::onnx::AttributeProto &attribute : function.attribute_proto())
    attributes.push_back(attribute.name());
  std::pair<StringRef, std::optional<StringRef>> lists[] = {
      {"input", findTwice(function.input())},
      {"output", findTwice(function.output())},
      {"attribute", findTwice(attributes)}};
  for (auto [what, twice] : lists)
    if (twice)
      return functionError(function, loc)
             << "expected different names, found " << what << " '" << *twice
             << "' twice";
  return success();
}

/// The functions that the nodes of `function`, and of its subgraphs, call.
static SmallVector<const Function *>
findCallees(const Function &function, const LocalFunctions &functions) {
  llvm::SmallSetVector<const Function *, 4> callees;
  SmallVector<const ::onnx::NodeProto *> worklist;
  auto add = [&](const auto &nodes) {
    for (const ::onnx::NodeProto &node : nodes)
      worklist.push_back(&node);
  };
  add(function.node());
  while (!worklist.empty()) {
    const ::onnx::NodeProto &node = *worklist.pop_back_val();
    if (const Function *callee = functions.lookup(node))
      callees.insert(callee);
    for (const ::onnx::AttributeProto &attribute : node.attribute()) {
      add(attribute.g().node());
      for (const ::onnx::GraphProto &graph : attribute.graphs())
        add(graph.node());
    }
  }
  return callees.takeVector();
}

LogicalResult LocalFunctions::checkRecursion(Location loc) const {
  struct Frame {
    const Function *function;
    SmallVector<const Function *> rest;
  };
  enum State { Unseen, Open, Done };
  llvm::DenseMap<const Function *, State> states;
  std::vector<Frame> stack;
  auto enter = [&](const Function *function) {
    states[function] = Open;
    stack.push_back({function, findCallees(*function, *this)});
  };
  for (const Function &function : model.functions()) {
    if (states.lookup(&function) == Unseen)
      enter(&function);
    while (!stack.empty()) {
      Frame &frame = stack.back();
      if (frame.rest.empty()) {
        states[frame.function] = Done;
        stack.pop_back();
        continue;
      }
      const Function *callee = frame.rest.pop_back_val();
      if (states.lookup(callee) == Open)
        return functionError(*callee, loc)
               << "expected no recursion, found a call of it in "
               << (callee == frame.function
                       ? "itself"
                       : "function '" +
                             getQualifiedName(frame.function->domain(),
                                              frame.function->name()) +
                             "', which it calls");
      if (states.lookup(callee) == Unseen)
        enter(callee);
    }
  }
  return success();
}

LogicalResult LocalFunctions::check(Location loc) const {
  for (const Function &function : model.functions()) {
    if (function.name().empty())
      return emitError(loc) << "expected functions to have names";
    const Function *first = byOverload.lookup(
        makeName(function.domain(), function.name(), function.overload()));
    if (first != &function)
      return functionError(function, loc)
             << "expected one function of this name, found a second";
    if (failed(checkLists(function, loc)))
      return failure();
  }
  return checkRecursion(loc);
}

//===----------------------------------------------------------------------===//
// The model's own fields
//===----------------------------------------------------------------------===//

/// Checks that the IR version of the model supports a feature.
static LogicalResult checkFeature(const ::onnx::ModelProto &model, bool isUsed,
                                  int64_t since, StringRef what, Location loc) {
  if (!isUsed || model.ir_version() >= since)
    return success();
  return emitError(loc) << "IR version " << model.ir_version() << " has no "
                        << what << ": expected at least " << since;
}

LogicalResult checkModelFields(const ::onnx::ModelProto &model, Location loc,
                               Deviations &deviations) {
  constexpr int64_t newest = ::onnx::Version::IR_VERSION;
  if (model.ir_version() < 1 || model.ir_version() > newest)
    return emitError(loc) << "expected an IR version from 1 to " << newest
                          << ", found "
                          << (model.has_ir_version()
                                  ? std::to_string(model.ir_version())
                                  : "none");
  constexpr int64_t withOpsets = 3, withTraining = 7, withFunctions = 8;
  if (model.ir_version() >= withOpsets && model.opset_import().empty())
    return emitError(loc) << "IR version " << model.ir_version()
                          << ": expected the import of an opset, found none";
  if (failed(checkFeature(model, model.training_info_size(), withTraining,
                          "training_info", loc)) ||
      failed(checkFeature(model, model.functions_size(), withFunctions,
                          "functions", loc)))
    return failure();
  llvm::StringSet<> keys;
  for (const ::onnx::StringStringEntryProto &entry : model.metadata_props())
    if (!keys.insert(entry.key()).second)
      return emitError(loc)
             << "metadata_props: expected different keys, found '"
             << entry.key() << "' twice";
  constexpr int64_t withoutInputs = 4;
  if (model.ir_version() >= withoutInputs)
    return success();
  llvm::StringSet<> inputs;
  for (const ::onnx::ValueInfoProto &input : model.graph().input())
    inputs.insert(input.name());
  for (const ::onnx::TensorProto &tensor : model.graph().initializer())
    if (!inputs.contains(tensor.name()) &&
        failed(deviations.add(Deviation::NoInputForInitializer,
                              "initializer '" + tensor.name() + "'")))
      return failure();
  return success();
}

//===----------------------------------------------------------------------===//
// training_info
//===----------------------------------------------------------------------===//

namespace {

using Bindings =
    google::protobuf::RepeatedPtrField<::onnx::StringStringEntryProto>;

/// Checks the bindings of one model.
class BindingChecker {
public:
  BindingChecker(const ::onnx::ModelProto &model, Location loc);

  LogicalResult check(const ::onnx::TrainingInfoProto &training, int number);

private:
  LogicalResult checkBindings(const Bindings &bindings, StringRef list,
                              ArrayRef<const ::onnx::GraphProto *> from,
                              const ::onnx::TrainingInfoProto &training,
                              llvm::StringSet<> &bound);
  /// The element type of a name that training_info binds; absent if nothing
  /// that it may bind has the name.
  std::optional<int32_t> findState(StringRef name) const;

  static bool isDefined(StringRef name, const ::onnx::GraphProto &graph) {
    auto hasName = [&](const auto &value) { return value.name() == name; };
    return llvm::any_of(graph.input(), hasName) ||
           llvm::any_of(graph.node(), [&](const ::onnx::NodeProto &node) {
             return llvm::is_contained(node.output(), name);
           });
  }
  bool isDefined(StringRef name, const ::onnx::TrainingInfoProto &training) {
    return !name.empty() && (isDefined(name, mainGraph) ||
                             isDefined(name, training.algorithm()));
  }

  Location loc;
  const ::onnx::GraphProto &mainGraph;
  /// Initializers of the main graph, and of the current algorithm.
  llvm::StringMap<int32_t> initializers, own;
  int number = 0;
  /// Values that are already bound by any training_info.
  llvm::StringSet<> updated, initialized;
};

} // namespace

static void addInitializers(const ::onnx::GraphProto &graph,
                            llvm::StringMap<int32_t> &initializers) {
  for (const ::onnx::TensorProto &tensor : graph.initializer())
    initializers.try_emplace(tensor.name(), tensor.data_type());
  for (const ::onnx::SparseTensorProto &tensor : graph.sparse_initializer())
    initializers.try_emplace(tensor.values().name(),
                             tensor.values().data_type());
}

BindingChecker::BindingChecker(const ::onnx::ModelProto &model, Location loc)
    : loc(loc), mainGraph(model.graph()) {
  addInitializers(mainGraph, initializers);
}

std::optional<int32_t> BindingChecker::findState(StringRef name) const {
  for (const auto *table : {&initializers, &own})
    if (auto it = table->find(name); it != table->end())
      return it->second;
  return std::nullopt;
}

LogicalResult
BindingChecker::checkBindings(const Bindings &bindings, StringRef list,
                              ArrayRef<const ::onnx::GraphProto *> from,
                              const ::onnx::TrainingInfoProto &training,
                              llvm::StringSet<> &bound) {
  llvm::StringMap<int32_t> outputs;
  for (const ::onnx::GraphProto *graph : from)
    for (const ::onnx::ValueInfoProto &output : graph->output())
      outputs.try_emplace(output.name(),
                          output.type().tensor_type().elem_type());
  auto error = [&] {
    return emitError(loc) << "training_info " << number << ": " << list << ": ";
  };
  auto bindingError = [&](const ::onnx::StringStringEntryProto &binding) {
    return emitError(loc) << "training_info " << number << ": " << list
                          << " of '" << binding.key() << "': ";
  };
  StringRef graphName =
      list == "update_binding" ? "algorithm" : "initialization";
  for (const ::onnx::StringStringEntryProto &binding : bindings) {
    std::optional<int32_t> state = findState(binding.key());
    if (!state)
      return error() << (isDefined(binding.key(), training)
                             ? "expected an initializer, got '"
                             : "the model has no initializer '")
                     << binding.key() << "'";
    auto output = outputs.find(binding.value());
    if (output == outputs.end())
      return bindingError(binding) << "the " << graphName << " has no output '"
                                   << binding.value() << "'";
    if (*state && output->second && *state != output->second)
      return bindingError(binding)
             << "expected " << getElementKindName(ElementKind(*state))
             << ", got '" << binding.value() << "' of "
             << getElementKindName(ElementKind(output->second));
    if (!bound.insert(binding.key()).second)
      return error() << "'" << binding.key() << "' is bound twice";
  }
  return success();
}

LogicalResult BindingChecker::check(const ::onnx::TrainingInfoProto &training,
                                    int place) {
  number = place;
  own.clear();
  addInitializers(training.algorithm(), own);
  auto error = [&] {
    return emitError(loc) << "training_info " << number << ": ";
  };
  if (training.has_initialization() && training.initialization().input_size())
    return error() << "expected an initialization without inputs, found '"
                   << training.initialization().input(0).name() << "'";
  if (training.update_binding_size() && !training.has_algorithm())
    return error() << "it has no algorithm";
  if (failed(checkBindings(
          training.initialization_binding(), "initialization_binding",
          {&training.initialization()}, training, initialized)))
    return failure();
  return checkBindings(training.update_binding(), "update_binding",
                       {&training.algorithm(), &mainGraph}, training, updated);
}

//===----------------------------------------------------------------------===//
// Gradients
//===----------------------------------------------------------------------===//

/// The texts of an attribute, a list or one text.
static SmallVector<StringRef> getTexts(const ::onnx::NodeProto &node,
                                       StringRef name) {
  SmallVector<StringRef> texts;
  for (const ::onnx::AttributeProto &attribute : node.attribute())
    if (attribute.name() == name) {
      texts.assign(attribute.strings().begin(), attribute.strings().end());
      if (attribute.has_s())
        texts.push_back(attribute.s());
    }
  return texts;
}

static LogicalResult
checkGradient(const ::onnx::NodeProto &node, Location loc,
              llvm::function_ref<bool(StringRef)> isValue) {
  auto error = [&] {
    return emitError(loc) << describeNode(node,
                                          getQualifiedName(node.domain(),
                                                           node.op_type()))
                          << ": ";
  };
  for (StringRef list : {"xs", "zs", "y"})
    for (StringRef name : getTexts(node, list))
      if (!isValue(name))
        return error() << "attribute '" << list << "': the model defines no "
                       << "value '" << name << "'";
  int wanted = int(getTexts(node, "xs").size());
  int given = wanted + int(getTexts(node, "zs").size());
  if (node.input_size() != given)
    return error() << "expected one input for each of the " << given
                   << " names in "
                   << "'xs' and 'zs', found " << node.input_size();
  if (node.output_size() != wanted)
    return error() << "expected one output for each of the " << wanted
                   << " names in "
                   << "'xs', found " << node.output_size();
  return success();
}

LogicalResult checkGradients(const ::onnx::GraphProto &graph, Location loc,
                             llvm::function_ref<bool(StringRef)> isValue) {
  for (const ::onnx::NodeProto &node : graph.node())
    if (node.op_type() == "Gradient" &&
        node.domain() == "ai.onnx.preview.training" &&
        failed(checkGradient(node, loc, isValue)))
      return failure();
  return success();
}

LogicalResult checkTrainingInfo(const ::onnx::ModelProto &model, Location loc) {
  BindingChecker checker(model, loc);
  for (int index = 0; index < model.training_info_size(); ++index)
    if (failed(checker.check(model.training_info(index), index)))
      return failure();
  return success();
}

} // namespace mp
