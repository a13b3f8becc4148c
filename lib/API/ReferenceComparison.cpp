//===- ReferenceComparison.cpp - Models against one in float64 ------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/API/ReferenceComparison.h"

#include "mp-opt/API/TensorText.h"
#include "mp-opt/Data/Convert.h"

#include "Graph/Passes.h"

#include "mlir/Pass/PassManager.h"

#include <cmath>
#include <random>

using namespace llvm;

namespace mp {

ReferenceComparison::ReferenceComparison(ReferenceComparisonOptions options,
                                         ComparedModel reference, DataSet data)
    : options(std::move(options)), inputs(std::move(data)),
      reference(std::move(reference)) {}

//===----------------------------------------------------------------------===//
// Running
//===----------------------------------------------------------------------===//

/// Data by the names of the inputs, random numbers included: what all get.
Error ReferenceComparison::readInputs() {
  auto model = reference.load();
  if (!model)
    return model.takeError();
  auto takes = (*model)->getInputs(options.compile.dims);
  if (!takes)
    return takes.takeError();
  auto bound = bindInputs(*takes, inputs, options.binding);
  if (!bound)
    return bound.takeError();
  inputs.inputs.clear();
  inputs.isPositional = false;
  for (auto [input, tensor] : llvm::zip(*takes, *bound))
    if (tensor.getData())
      inputs.inputs.push_back({input.name, tensor});
  return Error::success();
}

/// The data with floats of the type that the model takes.
static Expected<DataSet> convertData(const DataSet &data,
                                     ArrayRef<ModelValue> takes) {
  DataSet converted = data;
  for (auto &[name, tensor] : converted.inputs)
    for (const ModelValue &input : takes) {
      if (input.name != name)
        continue;
      Expected<Tensor> fitting = convertFloats(tensor, input.kind);
      if (!fitting)
        return prefixError("input '" + name + "'", fitting.takeError());
      tensor = std::move(*fitting);
    }
  return converted;
}

/// A session of a model on the same data as all others.
Expected<Session> ReferenceComparison::open(std::unique_ptr<Model> model,
                                            const DataSet &from,
                                            DeviceKind device) {
  SessionOptions own{options.compile, options.binding};
  own.compile.device = device;
  own.compile.keepPanels = false;
  auto takes = model->getInputs(own.compile.dims);
  if (!takes)
    return takes.takeError();
  Expected<DataSet> data = convertData(from, *takes);
  if (!data)
    return data.takeError();
  return Session::create(std::move(model), *data, own);
}

static Error inlineFunctions(Model &model) {
  return model.runPasses([](mlir::PassManager &manager) {
    manager.addPass(createInlineFunctions());
  });
}

Error ReferenceComparison::compute(ComparedModel &compared, bool isWide,
                                   const StringSet<> &exposed) {
  auto loaded = compared.load();
  if (!loaded)
    return loaded.takeError();
  std::unique_ptr<Model> model = std::move(*loaded);
  if (Error failed = isWide ? model->widen() : inlineFunctions(*model))
    return failed;
  compared.values = getInnerValues(model->getModule());
  if (!isWide && exposed.empty()) {
    compared.roundings = findRoundings(model->getModule());
    compared.depths = findRoundingDepths(model->getModule());
  }
  exposeValues(model->getModule(), exposed);
  auto session = open(std::move(model), inputs,
                      isWide ? DeviceKind::CPU : options.compile.device);
  if (!session)
    return addContext(compared.title, session.takeError());
  auto outputs = session->run();
  if (!outputs)
    return addContext(compared.title, outputs.takeError());
  compared.inner.clear();
  for (const NamedTensor &output : *outputs)
    compared.inner[output.name] = output.tensor;
  // A second run, for inner values, may compute outputs in another way.
  if (exposed.empty())
    compared.outputs = std::move(*outputs);
  return Error::success();
}

/// The names of values that nodes of both the model and the reference compute.
StringSet<>
ReferenceComparison::getCommonValues(const ComparedModel &model) const {
  StringSet<> names, common;
  for (const InnerValue &value : reference.values)
    names.insert(value.name);
  for (const InnerValue &value : model.values)
    if (names.contains(value.name))
      common.insert(value.name);
  return common;
}

/// Runs the model and the reference again with the values as outputs.
Error ReferenceComparison::rankNodes(ComparedModel &model,
                                     const StringSet<> &common) {
  if (Error failed = compute(model, /*isWide=*/false, common))
    return failed;
  if (Error failed = compute(reference, /*isWide=*/true, common))
    return failed;
  model.nodes = mp::rankNodes(model.values, model.inner, reference.inner);
  model.inner.clear();
  return Error::success();
}

/// Outputs beside those of the reference.
static Expected<std::vector<OutputDifference>>
compareToWide(ArrayRef<NamedTensor> outputs, const ComparedModel &reference,
              const Tolerance &tolerance) {
  std::vector<NamedTensor> wide;
  for (const auto &[name, tensor] : outputs) {
    Expected<Tensor> converted = convertFloats(tensor, ElementKind::Double);
    if (!converted)
      return prefixError("output '" + name + "'", converted.takeError());
    wide.push_back({name, std::move(*converted)});
  }
  return mp::compareOutputs(wide, reference.outputs, /*isPositional=*/false,
                            tolerance);
}

Error ReferenceComparison::compareOutputs(ComparedModel &model) {
  auto compared = compareToWide(model.outputs, reference,
                                options.tolerance.value_or(Tolerance()));
  if (!compared)
    return addContext(model.title, compared.takeError());
  model.differences = std::move(*compared);
  if (options.relative)
    for (OutputDifference &output : model.differences)
      output.bound = {*options.relative, *options.relative};
  return Error::success();
}

Error ReferenceComparison::run() {
  if (Error failed = readInputs())
    return failed;
  if (Error failed = compute(reference, /*isWide=*/true, {}))
    return failed;
  for (ComparedModel &model : models) {
    if (Error failed = compute(model, /*isWide=*/false, {}))
      return failed;
    if (Error failed = compareOutputs(model))
      return failed;
    StringSet<> common = options.nodes ? getCommonValues(model) : StringSet<>();
    if (!common.empty())
      if (Error failed = rankNodes(model, common))
        return failed;
    if (!options.relative && !options.tolerance)
      if (Error failed = setBounds(model, common))
        return failed;
    model.nodes.resize(std::min<size_t>(model.nodes.size(), options.nodes));
  }
  return Error::success();
}

//===----------------------------------------------------------------------===//
// Bounds
//===----------------------------------------------------------------------===//

/// How often the reference is run on other grids.
static constexpr unsigned numDraws = 8;
/// Errors that are explained: so many times the mean of the draws and so many
/// deviations. Of a single number, whose errors scatter most, one healthy one
/// of 1,000 is further off.
static constexpr double margin = 2, deviations = 3;
/// Sums in fp32 in another order.
static constexpr double floatNoise = 0x1p-18;
/// What a path may amplify the errors of its roundings by.
static constexpr double bearableGain = 4;

/// The root mean square error of several draws that is explained.
static double getExplained(ArrayRef<double> errors) {
  double sum = 0, squares = 0;
  for (double error : errors)
    sum += error;
  double mean = sum / double(errors.size());
  for (double error : errors)
    squares += (error - mean) * (error - mean);
  double deviation =
      errors.size() > 1 ? std::sqrt(squares / double(errors.size() - 1)) : 0;
  return margin * (mean + deviations * deviation) + floatNoise;
}

/// Numbers from 0.5 to 1, others for each draw.
static Expected<Tensor> drawScales(unsigned count, unsigned draw) {
  Expected<Tensor> scales =
      Tensor::create(ElementKind::Float, {int64_t(count)});
  if (!scales)
    return scales;
  std::mt19937_64 engine(draw);
  for (float &scale : scales->get<float>())
    scale = float(0x1p-25 * double((engine() >> 40) + (1 << 24)));
  return scales;
}

/// A session of the reference in its own types that rounds the same values as
/// the model, on grids that the last input scales.
Expected<Session> ReferenceComparison::openOnGrids(const ComparedModel &model,
                                                   const StringSet<> &exposed,
                                                   unsigned &numScales) {
  auto loaded = reference.load();
  if (!loaded)
    return loaded.takeError();
  if (Error failed = inlineFunctions(**loaded))
    return failed;
  ScaleInput scales =
      roundOnScaledGrids((*loaded)->getModule(), model.roundings);
  numScales = scales.count;
  exposeValues((*loaded)->getModule(), exposed);
  DataSet data = inputs;
  if (numScales) {
    Expected<Tensor> drawn = drawScales(numScales, 0);
    if (!drawn)
      return drawn.takeError();
    data.inputs.push_back({scales.name, *drawn});
  }
  // Products of tf32 round as well, on the device alone.
  bool isTF32 = options.compile.fp32Products == FP32Products::TF32;
  return open(std::move(*loaded), data,
              isTF32 ? options.compile.device : DeviceKind::CPU);
}

/// The errors, by outputs and exposed values, that are explained by what the
/// model rounds; nothing is known where the reference has none of that.
Expected<StringMap<double>>
ReferenceComparison::measureRounding(const ComparedModel &model,
                                     const StringSet<> &exposed) {
  StringMap<double> explained;
  unsigned numScales = 0;
  Expected<Session> session = openOnGrids(model, exposed, numScales);
  if (!session)
    return session.takeError();
  if (!numScales && !model.roundings.empty())
    return explained;
  StringMap<SmallVector<double>> errors;
  for (unsigned draw = 0; draw < (numScales ? numDraws : 1); ++draw) {
    if (numScales) {
      Expected<Tensor> drawn = drawScales(numScales, draw);
      if (!drawn)
        return drawn.takeError();
      session->getInputs().back() = *drawn;
    }
    // Random numbers of the model are the same in every call.
    session->getProgram().setCallNumber(0);
    auto outputs = session->run();
    if (!outputs)
      return outputs.takeError();
    for (const auto &[name, tensor] : *outputs)
      if (auto wide = reference.inner.find(name);
          wide != reference.inner.end() &&
          wide->second.getSizes() == tensor.getSizes())
        errors[name].push_back(
            Difference::compute(tensor, wide->second, {}).getError());
  }
  for (auto &entry : errors)
    explained[entry.getKey()] = getExplained(entry.getValue());
  return explained;
}

/// What a node's error may be beyond what rounding explains before it is called
/// unexplained: there are many nodes.
static constexpr double nodeMargin = 2;

/// True for what a mask is made of: its numbers become others that mask as well
/// (Precision/Patterns/MaskAnalysis.h).
static bool holdsMask(const Tensor &values) {
  constexpr double least = -1e4;
  return TensorRange(values).least <= least;
}

/// Tells nodes what explains their errors; the first that is not explained.
static std::optional<NodeError>
findUnexplained(ComparedModel &model, const StringMap<Tensor> &expected,
                const StringMap<double> &explained) {
  StringMap<const NodeError *> unexplained;
  for (NodeError &node : model.nodes) {
    auto known = explained.find(node.value);
    if (known == explained.end())
      continue;
    node.explained = known->second;
    if (node.error > nodeMargin * node.explained &&
        !holdsMask(expected.lookup(node.value)))
      unexplained[node.value] = &node;
  }
  for (const InnerValue &value : model.values)
    if (const NodeError *node = unexplained.lookup(value.name))
      return *node;
  return std::nullopt;
}

Error ReferenceComparison::setBounds(ComparedModel &model,
                                     const StringSet<> &exposed) {
  StringMap<double> explained;
  if (model.isReference && model.roundings.empty()) {
    // What it rounds are its own sums.
    for (const OutputDifference &output : model.differences)
      explained[output.name] = getExplained(output.numbers.getError());
  } else {
    auto measured = measureRounding(model, exposed);
    if (!measured)
      return addContext(model.title + " on other grids", measured.takeError());
    explained = std::move(*measured);
    model.unexplained = findUnexplained(model, reference.inner, explained);
  }
  for (OutputDifference &output : model.differences) {
    ErrorBound &bound = output.bound.emplace();
    if (auto known = explained.find(output.name); known != explained.end())
      bound.explained = known->second;
    if (RoundingDepth depth = model.depths.lookup(output.name); depth.depth)
      bound.bearable = bearableGain * depth.getError() + floatNoise;
  }
  return Error::success();
}

//===----------------------------------------------------------------------===//
// Printing
//===----------------------------------------------------------------------===//

/// Errors are shares of the values' root mean squares.
static void printNodes(ArrayRef<NodeError> nodes, raw_ostream &os) {
  constexpr size_t column = 12;
  constexpr StringLiteral title =
      "nodes that add most to their operands' errors";
  size_t width = title.size();
  for (const NodeError &node : nodes)
    width = std::max(width, node.node.size());
  os << "\n"
     << pad(title, width) << padLeft("added", column)
     << padLeft("error", column) << "\n";
  for (const NodeError &node : nodes)
    os << pad(node.node, width) << padLeft(formatPercent(node.added), column)
       << padLeft(formatPercent(node.error), column) << "\n";
}

/// One section for each model, under a title that tells it from the others.
void ReferenceComparison::print(raw_ostream &os) const {
  for (auto [index, model] : llvm::enumerate(models)) {
    os << (index ? "\n" : "") << "== " << model.title << ", against "
       << reference.title << " in float64 ==\n";
    printDifferences(model.differences, os);
    if (!model.nodes.empty())
      printNodes(model.nodes, os);
    if (model.unexplained)
      os << "\nfirst that rounding does not explain: "
         << model.unexplained->describe() << "\n";
  }
}

void ReferenceComparison::printJSON(raw_ostream &os) const {
  json::OStream json(os, 2);
  json.object([&] {
    json.attribute("reference", json::fixUTF8(reference.title));
    json.attributeArray("models", [&] {
      for (const ComparedModel &model : models)
        json.object([&] {
          json.attribute("model", json::fixUTF8(model.title));
          json.attributeArray("outputs", [&] {
            for (const OutputDifference &difference : model.differences)
              mp::printJSON(difference, json);
          });
          if (model.unexplained)
            json.attribute("unexplained",
                           json::fixUTF8(model.unexplained->describe()));
          json.attributeArray("nodes", [&] {
            for (const NodeError &node : model.nodes)
              json.object([&] {
                json.attribute("node", json::fixUTF8(node.node));
                json.attribute("value", json::fixUTF8(node.value));
                json.attribute("error", toJSON(node.error));
                json.attribute("added", toJSON(node.added));
              });
          });
        });
    });
  });
  os << "\n";
}

} // namespace mp
