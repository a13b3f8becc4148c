//===- ReferenceComparison.cpp - Models against one in float64 ------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/API/ReferenceComparison.h"

#include "mp-opt/API/TensorText.h"
#include "mp-opt/Data/Convert.h"

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
  auto bound = bindInputs(*takes, inputs, options.seed);
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

Error ReferenceComparison::compute(ComparedModel &compared, bool isWide,
                                   const StringSet<> &exposed) {
  auto loaded = compared.load();
  if (!loaded)
    return loaded.takeError();
  std::unique_ptr<Model> model = std::move(*loaded);
  if (isWide)
    if (Error failed = model->widen())
      return failed;
  compared.values = getInnerValues(model->getModule());
  exposeValues(model->getModule(), exposed);
  SessionOptions own{options.compile, options.seed};
  own.compile.keepPanels = false;
  auto takes = model->getInputs(own.compile.dims);
  if (!takes)
    return takes.takeError();
  Expected<DataSet> data = convertData(inputs, *takes);
  if (!data)
    return data.takeError();
  auto session = Session::create(std::move(model), *data, own);
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

/// Runs everything again with the values of nodes as outputs.
Error ReferenceComparison::computeInner() {
  for (ComparedModel &model : models) {
    StringSet<> names, common;
    for (const InnerValue &value : reference.values)
      names.insert(value.name);
    for (const InnerValue &value : model.values)
      if (names.contains(value.name))
        common.insert(value.name);
    if (common.empty())
      continue;
    if (Error failed = compute(model, /*isWide=*/false, common))
      return failed;
    if (Error failed = compute(reference, /*isWide=*/true, common))
      return failed;
    model.nodes = rankNodes(model.values, model.inner, reference.inner);
    model.nodes.resize(std::min<size_t>(model.nodes.size(), options.nodes));
    model.inner.clear();
  }
  return Error::success();
}

static Expected<std::vector<OutputDifference>>
compareToWide(const ComparedModel &model, const ComparedModel &reference,
              const Tolerance &tolerance) {
  std::vector<NamedTensor> wide;
  for (const auto &[name, tensor] : model.outputs) {
    Expected<Tensor> converted = convertFloats(tensor, ElementKind::Double);
    if (!converted)
      return prefixError("output '" + name + "'", converted.takeError());
    wide.push_back({name, std::move(*converted)});
  }
  return compareOutputs(wide, reference.outputs, /*isPositional=*/false,
                        tolerance);
}

Error ReferenceComparison::run() {
  if (Error failed = readInputs())
    return failed;
  if (Error failed = compute(reference, /*isWide=*/true, {}))
    return failed;
  for (ComparedModel &model : models) {
    if (Error failed = compute(model, /*isWide=*/false, {}))
      return failed;
    auto compared = compareToWide(model, reference, options.tolerance);
    if (!compared)
      return addContext(model.title, compared.takeError());
    model.differences = std::move(*compared);
  }
  return options.nodes ? computeInner() : Error::success();
}

//===----------------------------------------------------------------------===//
// Printing
//===----------------------------------------------------------------------===//

void ReferenceComparison::print(raw_ostream &os) const {
  os << "against " << reference.title << " in float64\n";
  for (const ComparedModel &model : models) {
    os << "\n" << model.title << "\n";
    printDifferences(model.differences, os);
    if (model.nodes.empty())
      continue;
    size_t width = 0;
    for (const NodeError &node : model.nodes)
      width = std::max(width, node.node.size());
    os << pad("nodes that add most", width) << padLeft("added", 14)
       << padLeft("error", 14) << "\n";
    for (const NodeError &node : model.nodes)
      os << pad(node.node, width) << padLeft(formatShort(node.added), 14)
         << padLeft(formatShort(node.error), 14) << "\n";
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
