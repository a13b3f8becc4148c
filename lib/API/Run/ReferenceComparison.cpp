//===- ReferenceComparison.cpp - Models against one in float64 ------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/API/Run/ReferenceComparison.h"

#include "ReferenceBounds.h"
#include "mp-opt/API/Model/InputFit.h"
#include "mp-opt/API/Model/TensorText.h"
#include "mp-opt/Data/Convert.h"
#include "mp-opt/Execution/CompileProgress.h"

#include "llvm/Support/Regex.h"

#include <cmath>

using namespace llvm;

namespace mp {

ReferenceComparison::ReferenceComparison(ReferenceComparisonOptions options,
                                         ComparedModel reference, DataSet data)
    : options(std::move(options)), inputs(std::move(data)),
      reference(std::move(reference)) {}

//===----------------------------------------------------------------------===//
// Data
//===----------------------------------------------------------------------===//

/// Fails for data without rows, i.e. if the first axis has no elements and its
/// size is not fixed by the model.
static Error checkRows(const ModelValue &input, const Tensor &tensor,
                       StringRef path) {
  if (input.sizes.empty() || input.sizes.front() >= 0 ||
      tensor.getSizes().front() != 0)
    return Error::success();
  return createStringError(
      (path.empty() ? "" : path + ": ") + "input '" + input.name + "' is " +
      describeType(tensor.getKind(), tensor.getSizes()) +
      ": the data have no rows, and nothing would be compared");
}

/// Warns of special numbers that would hide differences.
static void warnOfSpecials(const ModelValue &input, const Tensor &tensor,
                           StringRef path, const MessageFn &onMessage) {
  if (!onMessage || isFinite(tensor))
    return;
  TensorRange range(tensor);
  std::vector<double> elements = tensor.toDoubles();
  auto first = llvm::find_if(
      elements, [](double element) { return !std::isfinite(element); });
  int64_t perRow = std::max<int64_t>(
      1, input.sizes.empty() ? 1
                             : int64_t(elements.size()) /
                                   std::max<int64_t>(1, tensor.getSizes()[0]));
  std::string found;
  if (range.nans)
    found = std::to_string(range.nans) + " NaN";
  if (range.infinities)
    found += (found.empty() ? "" : " and ") + std::to_string(range.infinities) +
             " infinite";
  onMessage(path, mlir::DiagnosticSeverity::Warning,
            "input '" + input.name + "' has " + found + " of " +
                Twine(range.count) + " elements, the first in row " +
                Twine((first - elements.begin()) / perRow) +
                ": what they reach cannot be compared");
}

/// Reads the data by input name, random numbers included. All models receive
/// the same data.
Error ReferenceComparison::readInputs() {
  if (Error failed = prepare(reference))
    return failed;
  auto takes = reference.model->getInputs(options.compile.dims);
  if (!takes)
    return takes.takeError();
  auto bound = bindInputs(*takes, inputs, options.binding);
  if (!bound)
    return bound.takeError();
  for (auto [input, tensor] : llvm::zip(*takes, *bound)) {
    if (!tensor.getData())
      continue;
    if (Error failed = checkRows(input, tensor, inputs.path))
      return failed;
    warnOfSpecials(input, tensor, inputs.path, options.binding.onMessage);
  }
  inputs.inputs.clear();
  inputs.isPositional = false;
  for (auto [input, tensor] : llvm::zip(*takes, *bound))
    if (tensor.getData())
      inputs.inputs.push_back({input.name, tensor});
  return Error::success();
}

/// Converts float data to the types that the model takes.
static Expected<DataSet> convertData(const DataSet &data,
                                     ArrayRef<ModelValue> takes) {
  DataSet converted = data;
  for (auto &[name, tensor] : converted.inputs)
    for (const ModelValue &input : takes) {
      if (input.name != name)
        continue;
      if (Error failed = fitFloats(input, tensor).moveInto(tensor))
        return std::move(failed);
    }
  return converted;
}

//===----------------------------------------------------------------------===//
// Programs
//===----------------------------------------------------------------------===//

/// The number of compiled programs: the reference in its own types and in
/// float64, and the models. The reference among them runs again only on a
/// device.
unsigned ReferenceComparison::countPrograms() const {
  bool runsAgain = options.compile.device != getOwnDevice();
  return 2 + llvm::count_if(models, [&](const ComparedModel &model) {
           return !model.isReference || runsAgain;
         });
}

/// Passes on each warning of the compiler once, since all programs have nearly
/// the same nodes, possibly at different opsets.
mlir::LogicalResult ReferenceComparison::filter(mlir::Diagnostic &message) {
  if (message.getSeverity() != mlir::DiagnosticSeverity::Warning)
    return mlir::failure();
  static const Regex opset("-[0-9]+\\)");
  std::string text = message.str();
  while (opset.match(text))
    text = opset.sub(")", text);
  return mlir::success(!warned.insert(text).second);
}

/// A session of a model on the same data as all others.
Expected<Session> ReferenceComparison::open(std::unique_ptr<Model> model,
                                            const DataSet &from,
                                            DeviceKind device) {
  SessionOptions own{options.compile, options.binding};
  own.compile.device = device;
  own.compile.numWatched = numWatched;
  own.compile.keepPanels = false;
  ++numOpened;
  // Otherwise print one line for all programs.
  if (!CompileProgress::isOnTerminal())
    own.compile.title.clear();
  else if (!own.compile.title.empty())
    own.compile.title +=
        (": program " + Twine(numOpened) + " of " + Twine(countPrograms()))
            .str();
  auto takes = model->getInputs(own.compile.dims);
  if (!takes)
    return takes.takeError();
  Expected<DataSet> data = convertData(from, *takes);
  if (!data)
    return data.takeError();
  mlir::ScopedDiagnosticHandler handler(
      model->getModule().getContext(),
      [this](mlir::Diagnostic &message) { return filter(message); });
  return Session::create(std::move(model), *data, own);
}

/// Loads the model, inlines its functions, and collects its values.
Error ReferenceComparison::prepare(ComparedModel &compared) {
  auto loaded = compared.load();
  if (!loaded)
    return loaded.takeError();
  compared.model = std::move(*loaded);
  if (Error failed = compared.model->inlineFunctions())
    return failed;
  mlir::ModuleOp module = compared.model->getModule();
  compared.values = getInnerValues(module);
  compared.discretes = findDiscreteValues(module);
  compared.roundings = findRoundings(module);
  compared.depths = findRoundingDepths(module, reference.model->getModule());
  return Error::success();
}

/// Prepares all models, and finds the names of the values that they have in
/// common.
Error ReferenceComparison::prepareAll() {
  constants = findConstantOutputs(reference.model->getModule());
  numOutputs = reference.model->getOutputNames().size();
  StringSet<> names, discretes;
  for (const InnerValue &value : reference.values)
    names.insert(value.name);
  for (const DiscreteValue &value : reference.discretes)
    discretes.insert(value.name);
  for (ComparedModel &model : models) {
    if (model.isReference) {
      model.values = reference.values;
      model.roundings = reference.roundings;
      model.depths = reference.depths;
      if (options.nodes)
        exposed.insert_range(names.keys());
      continue;
    }
    if (Error failed = prepare(model))
      return failed;
    for (const InnerValue &value : model.values)
      if (options.nodes && names.contains(value.name))
        exposed.insert(value.name);
    llvm::erase_if(model.discretes, [&](const DiscreteValue &value) {
      return !discretes.contains(value.name);
    });
  }
  return Error::success();
}

/// Values that are asked for become outputs.
void ReferenceComparison::expose(Model &model, const ComparedModel &compared) {
  StringSet<> names = exposed;
  for (const DiscreteValue &value : compared.discretes)
    names.insert(value.name);
  numWatched = exposeValues(model.getModule(), names);
}

static StringMap<Tensor> mapByName(ArrayRef<NamedTensor> tensors) {
  StringMap<Tensor> map;
  for (const auto &[name, tensor] : tensors)
    map[name] = tensor;
  return map;
}

/// Products in tf32 also round, but only on devices.
DeviceKind ReferenceComparison::getOwnDevice() const {
  return options.compile.fp32Products == FP32Products::TF32
             ? options.compile.device
             : DeviceKind::CPU;
}

/// Runs the reference in its own types. Switches in its program round the
/// values that the other model rounds.
Error ReferenceComparison::runOwn() {
  Expected<std::unique_ptr<Model>> copy = reference.load();
  if (!copy)
    return copy.takeError();
  std::unique_ptr<Model> model = std::move(reference.model);
  reference.model = std::move(*copy);
  DataSet data = inputs;
  for (const ComparedModel &other : models) {
    if (other.isReference || other.roundings.empty() || options.relative ||
        options.tolerance)
      continue;
    ScaleInput scales = roundOnScaledGrids(model->getModule(), other.roundings);
    own.numScales = scales.count;
    if (!scales.count)
      continue;
    Expected<Tensor> none =
        Tensor::create(ElementKind::Float, {int64_t(scales.count)});
    if (!none)
      return none.takeError();
    data.inputs.push_back({scales.name, std::move(*none)});
  }
  expose(*model, reference);
  auto session = open(std::move(model), data, getOwnDevice());
  if (!session)
    return addContext(reference.title, session.takeError());
  own.session.emplace(std::move(*session));
  auto outputs = own.session->run();
  if (!outputs)
    return addContext(reference.title, outputs.takeError());
  own.inner = mapByName(*outputs);
  own.outputs = std::move(*outputs);
  own.outputs.resize(numOutputs);
  return Error::success();
}

/// Runs the reference in float64, with the integers that it makes in its own
/// types.
Error ReferenceComparison::runWide() {
  std::unique_ptr<Model> model = std::move(reference.model);
  StringMap<Tensor> discretes;
  for (const DiscreteValue &value : reference.discretes)
    if (auto found = own.inner.find(value.name); found != own.inner.end())
      discretes[value.name] = found->second;
  if (Error failed = model->inlineFunctions())
    return failed;
  DataSet data = inputs;
  llvm::append_range(data.inputs, giveValues(model->getModule(), discretes));
  if (Error failed = model->widen())
    return failed;
  StringSet<> computed = exposed;
  for (const auto &entry : discretes)
    computed.erase(entry.getKey());
  numWatched = exposeValues(model->getModule(), computed);
  auto session = open(std::move(model), data, DeviceKind::CPU);
  if (!session)
    return addContext(reference.title, session.takeError());
  auto outputs = session->run();
  if (!outputs)
    return addContext(reference.title, outputs.takeError());
  reference.inner = mapByName(*outputs);
  reference.outputs = std::move(*outputs);
  reference.outputs.resize(numOutputs);
  for (const auto &entry : discretes) {
    Expected<Tensor> wide = convertFloats(entry.second, ElementKind::Double);
    if (!wide)
      return prefixError("value '" + entry.getKey() + "'", wide.takeError());
    reference.inner.try_emplace(entry.getKey(), std::move(*wide));
  }
  return Error::success();
}

Error ReferenceComparison::runModel(ComparedModel &compared) {
  if (compared.isReference && options.compile.device == getOwnDevice()) {
    compared.outputs = own.outputs;
    compared.inner = own.inner;
    return Error::success();
  }
  if (compared.isReference)
    if (Error failed = prepare(compared))
      return failed;
  std::unique_ptr<Model> model = std::move(compared.model);
  expose(*model, compared);
  auto session = open(std::move(model), inputs, options.compile.device);
  if (!session)
    return addContext(compared.title, session.takeError());
  auto outputs = session->run();
  if (!outputs)
    return addContext(compared.title, outputs.takeError());
  compared.inner = mapByName(*outputs);
  compared.outputs = std::move(*outputs);
  return Error::success();
}

//===----------------------------------------------------------------------===//
// Comparing
//===----------------------------------------------------------------------===//

Expected<std::vector<NamedTensor>> widenTensors(ArrayRef<NamedTensor> tensors) {
  std::vector<NamedTensor> wide;
  for (const auto &[name, tensor] : tensors) {
    Expected<Tensor> converted = convertFloats(tensor, ElementKind::Double);
    if (!converted)
      return prefixError("output '" + name + "'", converted.takeError());
    wide.push_back({name, std::move(*converted)});
  }
  return wide;
}

StringMap<std::string> takeOtherSizes(std::vector<NamedTensor> &outputs,
                                      ArrayRef<NamedTensor> expected) {
  StringMap<std::string> others;
  for (NamedTensor &output : outputs)
    for (const auto &[name, tensor] : expected)
      if (name == output.name && tensor.getKind() == output.tensor.getKind() &&
          tensor.getRank() == output.tensor.getRank() &&
          tensor.getSizes() != output.tensor.getSizes()) {
        auto describe = [](const Tensor &tensor) {
          ElementKind kind = tensor.getKind();
          return describeType(kind == ElementKind::Double ? ElementKind::Float
                                                          : kind,
                              tensor.getSizes());
        };
        others[name] =
            describe(output.tensor) + " instead of " + describe(tensor);
        output.tensor = tensor;
      }
  return others;
}

Error ReferenceComparison::compareOutputs(ComparedModel &model) {
  Expected<std::vector<NamedTensor>> wide = widenTensors(model.outputs);
  if (!wide)
    return addContext(model.title, wide.takeError());
  StringMap<std::string> others = takeOtherSizes(*wide, reference.outputs);
  auto compared =
      mp::compareOutputs(*wide, reference.outputs, /*isPositional=*/false,
                         options.tolerance.value_or(Tolerance()));
  if (!compared)
    return addContext(model.title, compared.takeError());
  model.differences = std::move(*compared);
  for (OutputDifference &output : model.differences) {
    output.isConstant = constants.contains(output.name);
    output.otherSizes = others.lookup(output.name);
    if (!output.otherSizes.empty())
      output.numbers.specials = output.numbers.outside = output.numbers.count;
    if (options.relative)
      output.bound = {*options.relative, *options.relative};
  }
  return Error::success();
}

Error ReferenceComparison::judge(ComparedModel &model) {
  if (Error failed = runModel(model))
    return failed;
  if (Error failed = compareOutputs(model))
    return failed;
  if (!model.isReference)
    model.discrete =
        findDiscreteDifference(model.discretes, model.inner, own.inner);
  if (options.nodes)
    model.nodes = mp::rankNodes(model.values, model.inner, reference.inner);
  if (!options.relative && !options.tolerance) {
    if (Error failed = setBounds(model))
      return failed;
    if (Error failed = compareToOwn(model))
      return failed;
  }
  if (Error failed = rankNodes(model))
    return failed;
  model.inner.clear();
  return Error::success();
}

Error ReferenceComparison::run() {
  if (Error failed = readInputs())
    return failed;
  if (Error failed = prepareAll())
    return failed;
  std::optional<CompileProgress> progress;
  if (!options.compile.title.empty() && !CompileProgress::isOnTerminal())
    progress.emplace(options.compile.title + ": compiling and running " +
                     std::to_string(countPrograms()) +
                     " programs to compare them with float64");
  Error failed = runAll();
  if (progress && !failed)
    progress->finish();
  return failed;
}

Error ReferenceComparison::runAll() {
  if (Error failed = runOwn())
    return failed;
  if (Error failed = runWide())
    return failed;
  for (ComparedModel &model : models)
    if (Error failed = judge(model))
      return failed;
  return Error::success();
}

} // namespace mp
