//===- Comparer.cpp - Models against one of them in float64 ---------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Comparer.h"
#include "ExitCodes.h"

#include "mp-opt/API/TensorText.h"
#include "mp-opt/Data/Convert.h"

using namespace llvm;

namespace mp {

static int report(Error error) {
  errs() << "error: " << toString(std::move(error)) << "\n";
  return exitBadInput;
}

Comparer::Comparer(Options options, Candidate reference, DataSet data,
                   DataFlags dataFlags)
    : options(std::move(options)), inputs(std::move(data)),
      dataFlags(std::move(dataFlags)), reference(std::move(reference)) {}

//===----------------------------------------------------------------------===//
// Running
//===----------------------------------------------------------------------===//

/// Data by the names of the inputs, random numbers included: what all get.
int Comparer::readInputs() {
  std::unique_ptr<Model> model;
  if (int code = reference.load(model))
    return code;
  std::vector<ModelValue> takes = model->getInputs(options.compile.dims);
  auto bound = bindInputs(takes, inputs, dataFlags);
  if (!bound)
    return report(bound.takeError());
  inputs.inputs.clear();
  inputs.isPositional = false;
  for (auto [input, tensor] : llvm::zip(takes, *bound))
    if (tensor.getData())
      inputs.inputs.push_back({input.name, tensor});
  return exitOk;
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

int Comparer::compute(Candidate &candidate, bool isWide,
                      const StringSet<> &exposed) {
  std::unique_ptr<Model> model;
  if (int code = candidate.load(model))
    return code;
  if (isWide)
    if (int code = model->widen())
      return code;
  candidate.values = getInnerValues(model->getModule());
  exposeValues(model->getModule(), exposed);
  CompileOptions compile = options.compile;
  compile.keepPanels = false;
  std::vector<ModelValue> takes = model->getInputs(compile.dims);
  Expected<DataSet> data = convertData(inputs, takes);
  if (!data)
    return report(data.takeError());
  auto bound = bindInputs(takes, *data, dataFlags);
  if (!bound)
    return report(prefixError(candidate.title, bound.takeError()));
  addSizes(takes, *bound, compile);
  std::unique_ptr<Program> program = model->compile(compile);
  if (!program)
    return exitNotSupported;
  SmallVector<Tensor> results;
  if (Error failed = program->run(*bound, results))
    return report(prefixError(candidate.title, std::move(failed)));
  candidate.inner.clear();
  std::vector<NamedTensor> outputs;
  for (auto [value, tensor] : llvm::zip(program->getOutputs(), results)) {
    candidate.inner[value.name] = tensor;
    outputs.push_back({value.name, tensor});
  }
  // A second run, for inner values, may compute outputs in another way.
  if (exposed.empty())
    candidate.outputs = std::move(outputs);
  return exitOk;
}

/// Runs everything again with the values of nodes as outputs.
int Comparer::computeInner() {
  for (Candidate &candidate : candidates) {
    StringSet<> names, common;
    for (const InnerValue &value : reference.values)
      names.insert(value.name);
    for (const InnerValue &value : candidate.values)
      if (names.contains(value.name))
        common.insert(value.name);
    if (common.empty())
      continue;
    if (int code = compute(candidate, /*isWide=*/false, common))
      return code;
    if (int code = compute(reference, /*isWide=*/true, common))
      return code;
    candidate.nodes =
        rankNodes(candidate.values, candidate.inner, reference.inner);
    candidate.nodes.resize(
        std::min<size_t>(candidate.nodes.size(), options.nodes));
    candidate.inner.clear();
  }
  return exitOk;
}

static Expected<std::vector<OutputDifference>>
compareToWide(const Candidate &candidate, const Candidate &reference,
              const Tolerance &tolerance) {
  std::vector<NamedTensor> wide;
  for (const auto &[name, tensor] : candidate.outputs) {
    Expected<Tensor> converted = convertFloats(tensor, ElementKind::Double);
    if (!converted)
      return prefixError("output '" + name + "'", converted.takeError());
    wide.push_back({name, std::move(*converted)});
  }
  return compareOutputs(wide, reference.outputs, /*isPositional=*/false,
                        tolerance);
}

int Comparer::run() {
  if (int code = readInputs())
    return code;
  if (int code = compute(reference, /*isWide=*/true, {}))
    return code;
  for (Candidate &candidate : candidates) {
    if (int code = compute(candidate, /*isWide=*/false, {}))
      return code;
    auto compared = compareToWide(candidate, reference, options.tolerance);
    if (!compared)
      return report(prefixError(candidate.title, compared.takeError()));
    candidate.differences = std::move(*compared);
  }
  return options.nodes ? computeInner() : int(exitOk);
}

//===----------------------------------------------------------------------===//
// Printing
//===----------------------------------------------------------------------===//

void Comparer::print(raw_ostream &os) const {
  os << "against " << reference.title << " in float64\n";
  for (const Candidate &candidate : candidates) {
    os << "\n" << candidate.title << "\n";
    printDifferences(candidate.differences, os);
    if (candidate.nodes.empty())
      continue;
    size_t width = 0;
    for (const NodeError &node : candidate.nodes)
      width = std::max(width, node.node.size());
    os << pad("nodes that add most", width) << padLeft("added", 14)
       << padLeft("error", 14) << "\n";
    for (const NodeError &node : candidate.nodes)
      os << pad(node.node, width) << padLeft(formatShort(node.added), 14)
         << padLeft(formatShort(node.error), 14) << "\n";
  }
}

void Comparer::printJSON(raw_ostream &os) const {
  json::OStream json(os, 2);
  json.object([&] {
    json.attribute("reference", json::fixUTF8(reference.title));
    json.attributeArray("models", [&] {
      for (const Candidate &candidate : candidates)
        json.object([&] {
          json.attribute("model", json::fixUTF8(candidate.title));
          json.attributeArray("outputs", [&] {
            for (const OutputDifference &difference : candidate.differences)
              mp::printJSON(difference, json);
          });
          json.attributeArray("nodes", [&] {
            for (const NodeError &node : candidate.nodes)
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
