//===- MarkedModel.cpp - A model with roundings and probes ----------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MarkedModel.h"

#include "Stopwatch.h"
#include "mp-opt/Autodiff/Autodiff.h"
#include "mp-opt/Dialect/MP/MP.h"
#include "mp-opt/Training/Distribution.h"

#include "Autodiff/Passes.h"
#include "Graph/Passes.h"
#include "LossScaling/Passes.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mp::onnxir;

namespace mp {

/// Makes the copy with markers and writes it in operators that have
/// derivatives.
llvm::Error MarkedModel::prepare(ModuleOp module) {
  module.walk([&](ScaleLossOp op) {
    if (isa<BlockArgument>(op.getScale()))
      lossScaleName = getValueName(op.getScale()).str();
  });
  spots = RoundingSpots::find(module);
  OwningOpRef<ModuleOp> copy = spots.mark(module);
  marked = Model::copy(*copy, options.name);
  std::vector<std::string> names = marked->getOutputNames();
  std::optional<unsigned> metric;
  if (!options.metric.empty())
    metric = llvm::find(names, options.metric) - names.begin();
  outputs = keepMeasuredOutputs(marked->getModule(), metric);
  for (unsigned place : outputs.places)
    outputs.names.push_back(names[place]);
  if (outputs.names.empty() && metric)
    return makeError({ErrorKind::Usage, "--metric: the model has no output '" +
                                            options.metric +
                                            "' of floats; its outputs are " +
                                            llvm::join(names, ", ")});
  if (outputs.names.empty())
    return makeError({ErrorKind::NotSupported,
                      "the model has no output of floats, whose error could be "
                      "attributed to nodes"});
  removeReductions(marked->getModule());
  return marked->runPasses([](PassManager &pm) {
    RaiseOpsetOptions raising;
    raising.atLeast = minDifferentiableOpset;
    pm.addPass(createRaiseOpset(raising));
    pm.addPass(createDecomposeGradients());
    pm.addPass(createExpandLossScaling());
  });
}

/// Opens a session on the first batch and other inputs.
llvm::Expected<Session> MarkedModel::open(std::unique_ptr<Model> model,
                                          ArrayRef<NamedTensor> others) {
  Stopwatch watch(figures.compileSeconds);
  SessionOptions session{options.compile, {}};
  session.compile.keepPanels = false;
  session.compile.updateInPlace = false;
  DataSet data = batches.front();
  llvm::append_range(data.inputs, others);
  // The warnings of the compiler are about the model that the user has given.
  ScopedDiagnosticHandler handler(
      model->getModule().getContext(), [](Diagnostic &message) {
        return success(message.getSeverity() != DiagnosticSeverity::Error);
      });
  return Session::create(std::move(model), data, session);
}

llvm::Error MarkedModel::bind(Session &session, size_t batch,
                              ArrayRef<NamedTensor> others) {
  DataSet data = batches[batch];
  llvm::append_range(data.inputs, others);
  for (auto [input, value] :
       llvm::zip(session.getInputs(), session.getProgram().getInputs())) {
    if (value.name == lossScaleName && lossScale.getData())
      input = lossScale;
    for (const NamedTensor &given : data.inputs)
      if (given.name == value.name) {
        if (given.tensor.getSizes() != input.getSizes())
          return llvm::createStringError(
              "input '" + value.name + "' is " +
              describeType(given.tensor.getKind(), given.tensor.getSizes()) +
              " in batch " + Twine(batch) + " and " +
              describeType(input.getKind(), input.getSizes()) +
              " in the first one: expected batches of one size");
        input = given.tensor;
      }
  }
  // Random numbers are the same in all runs of a batch.
  session.getProgram().setCallNumber(int64_t(batch));
  return llvm::Error::success();
}

llvm::Expected<Tensor> makeVector(ArrayRef<float> elements) {
  auto tensor = Tensor::create(ElementKind::Float, {int64_t(elements.size())});
  if (tensor)
    llvm::copy(elements, tensor->get<float>().begin());
  return tensor;
}

llvm::Error MarkedModel::openRounding() {
  std::unique_ptr<Model> model = Model::copy(marked->getModule(), options.name);
  roundingInputs = addRoundings(model->getModule(), spots.getNumMarkers(), kind,
                                outputs.areGradients);
  auto scales = makeVector(std::vector<float>(spots.getNumMarkers()));
  if (!scales)
    return scales.takeError();
  auto session =
      open(std::move(model), NamedTensor{roundingInputs.scales, *scales});
  if (!session)
    return session.takeError();
  rounding.emplace(std::move(*session));
  return llvm::Error::success();
}

llvm::Expected<std::vector<NamedTensor>>
MarkedModel::round(size_t batch, ArrayRef<float> scales) {
  auto tensor = makeVector(scales);
  if (!tensor)
    return tensor.takeError();
  if (llvm::Error failed =
          bind(*rounding, batch, NamedTensor{roundingInputs.scales, *tensor}))
    return failed;
  Stopwatch watch(figures.runSeconds);
  ++figures.runs;
  return rounding->run();
}

/// Rewrites a copy of the marked model.
llvm::Error MarkedModel::addTerms(Model &model) {
  std::string reason;
  ScopedDiagnosticHandler handler(
      model.getModule().getContext(), [&](Diagnostic &message) {
        if (reason.empty() &&
            message.getSeverity() == DiagnosticSeverity::Error)
          reason = message.str();
        return success();
      });
  auto added = addErrorTerms(model.getModule(), spots.getNumMarkers(), kind,
                             outputs.areGradients);
  if (failed(added))
    return makeError({ErrorKind::NotSupported,
                      "errors cannot be attributed to nodes: " + reason});
  errorInputs = std::move(*added);
  return llvm::Error::success();
}

llvm::Error MarkedModel::openAdjoint(
    llvm::function_ref<llvm::Expected<Tensors>(const ErrorInputs &)>
        makeProbes) {
  std::unique_ptr<Model> model = Model::copy(marked->getModule(), options.name);
  if (llvm::Error failed = addTerms(*model))
    return failed;
  auto probes = makeProbes(errorInputs);
  if (!probes)
    return probes.takeError();
  auto session = open(std::move(model), *probes);
  if (!session)
    return session.takeError();
  adjoint.emplace(std::move(*session));
  return llvm::Error::success();
}

llvm::Expected<std::vector<std::vector<double>>>
MarkedModel::probe(size_t batch, ArrayRef<NamedTensor> probes) {
  if (llvm::Error failed = bind(*adjoint, batch, probes))
    return std::move(failed);
  Stopwatch watch(figures.probeSeconds);
  ++figures.probes;
  auto results = adjoint->run();
  if (!results)
    return results.takeError();
  std::vector<std::vector<double>> found;
  for (const NamedTensor &result : *results)
    found.push_back(result.tensor.toDoubles());
  return found;
}

bool MarkedModel::halveLossScale() {
  for (auto [number, input] :
       llvm::enumerate(rounding->getProgram().getInputs())) {
    if (lossScaleName.empty() || input.name != lossScaleName)
      continue;
    Tensor old = lossScale.getData()
                     ? lossScale
                     : rounding->getProgram().getDefault(unsigned(number));
    auto next = Tensor::create(ElementKind::Float, old.getSizes());
    if (!next || old.getKind() != ElementKind::Float ||
        old.getNumElements() != 1 || !(old.get<float>().front() > 1)) {
      llvm::consumeError(next.takeError());
      return false;
    }
    next->get<float>().front() = old.get<float>().front() / 2;
    lossScale = std::move(*next);
    return true;
  }
  return false;
}

llvm::Error MarkedModel::measureTime() {
  auto plain = open(Model::copy(marked->getModule(), options.name), {});
  if (!plain)
    return plain.takeError();
  // The first round is slower.
  for (bool isMeasured : {false, true})
    for (size_t batch = 0; batch < batches.size(); ++batch) {
      if (llvm::Error failed = bind(*plain, batch, {}))
        return failed;
      double ignored = 0;
      Stopwatch watch(isMeasured ? figures.plainSeconds : ignored);
      if (auto results = plain->run(); !results)
        return results.takeError();
    }
  return llvm::Error::success();
}

llvm::Expected<std::unique_ptr<MarkedModel>>
MarkedModel::create(ModuleOp module, ElementKind kind,
                    std::vector<DataSet> batches, AttributionOptions options) {
  std::unique_ptr<MarkedModel> made(
      new MarkedModel(kind, std::move(batches), std::move(options)));
  if (llvm::Error failed = made->prepare(module))
    return std::move(failed);
  if (llvm::Error failed = made->openRounding())
    return std::move(failed);
  return made;
}

} // namespace mp
