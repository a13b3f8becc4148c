//===- ErrorAttribution.cpp - What each rounding does to outputs ----------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/API/Run/ErrorAttribution.h"

#include "mp-opt/Autodiff/Autodiff.h"
#include "mp-opt/Training/Distribution.h"

#include "Autodiff/Passes.h"
#include "Graph/Passes.h"
#include "LossScaling/Passes.h"

#include <chrono>
#include <cmath>
#include <numeric>
#include <random>

using namespace mlir;

namespace mp {

namespace {

/// Adds the seconds of a scope.
class Stopwatch {
public:
  explicit Stopwatch(double &to) : to(to), start(Clock::now()) {}
  ~Stopwatch() {
    to += std::chrono::duration<double>(Clock::now() - start).count();
  }

private:
  using Clock = std::chrono::steady_clock;
  double &to;
  Clock::time_point start;
};

} // namespace

//===----------------------------------------------------------------------===//
// Programs
//===----------------------------------------------------------------------===//

/// Makes the copy with markers and writes it in operators that have
/// derivatives.
llvm::Error ErrorAttribution::prepare(ModuleOp module) {
  spots = RoundingSpots::find(module);
  OwningOpRef<ModuleOp> copy = spots.mark(module);
  marked = Model::copy(*copy, options.name);
  outputs = keepMeasuredOutputs(marked->getModule());
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
llvm::Expected<Session> ErrorAttribution::open(std::unique_ptr<Model> model,
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

llvm::Error ErrorAttribution::bind(Session &session, size_t batch,
                                   ArrayRef<NamedTensor> others) {
  DataSet data = batches[batch];
  llvm::append_range(data.inputs, others);
  for (auto [input, value] :
       llvm::zip(session.getInputs(), session.getProgram().getInputs()))
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
  // Random numbers are the same in all runs of a batch.
  session.getProgram().setCallNumber(int64_t(batch));
  return llvm::Error::success();
}

static llvm::Expected<Tensor> makeVector(ArrayRef<float> elements) {
  auto tensor = Tensor::create(ElementKind::Float, {int64_t(elements.size())});
  if (tensor)
    llvm::copy(elements, tensor->get<float>().begin());
  return tensor;
}

llvm::Expected<std::vector<NamedTensor>>
ErrorAttribution::run(size_t batch, ArrayRef<float> scales) {
  auto tensor = makeVector(scales);
  if (!tensor)
    return tensor.takeError();
  if (llvm::Error failed =
          bind(*rounding, batch, NamedTensor{scalesName, *tensor}))
    return failed;
  Stopwatch watch(figures.runSeconds);
  ++figures.runs;
  return rounding->run();
}

//===----------------------------------------------------------------------===//
// Errors
//===----------------------------------------------------------------------===//

static double getSquaredNorm(ArrayRef<double> values) {
  return std::accumulate(
      values.begin(), values.end(), 0.0,
      [](double sum, double value) { return sum + value * value; });
}

llvm::Error ErrorAttribution::runReference() {
  std::vector<float> none(spots.getNumMarkers());
  for (size_t batch = 0; batch < batches.size(); ++batch) {
    auto results = run(batch, none);
    if (!results)
      return results.takeError();
    Reference &reference = references.emplace_back();
    for (auto [result, name] : llvm::zip(*results, outputs.names)) {
      if (!isFinite(result.tensor))
        return llvm::createStringError(
            (outputs.areGradients ? "the gradient '" : "output '") + name +
            "' is not finite in fp32 in batch " + Twine(batch) +
            ": errors cannot be attributed");
      reference.outputs.push_back(result.tensor.toDoubles());
      if (!batch)
        outputSizes.push_back(llvm::to_vector(result.tensor.getSizes()));
      reference.norms.push_back(getSquaredNorm(reference.outputs.back()));
    }
    if (outputs.areGradients) {
      double all =
          std::accumulate(reference.norms.begin(), reference.norms.end(), 0.0);
      llvm::fill(reference.norms, all);
    }
  }
  return llvm::Error::success();
}

/// The squared relative error of the results of one batch.
double ErrorAttribution::getSquaredError(ArrayRef<NamedTensor> results,
                                         const Reference &reference) const {
  double sum = 0;
  unsigned counted = 0;
  for (auto [index, result] : llvm::enumerate(results)) {
    if (!reference.norms[index])
      continue;
    ++counted;
    std::vector<double> values = result.tensor.toDoubles();
    double error = 0;
    for (auto [value, expected] : llvm::zip(values, reference.outputs[index]))
      error += (value - expected) * (value - expected);
    sum += error / reference.norms[index];
  }
  if (!std::isfinite(sum))
    return INFINITY;
  return outputs.areGradients || !counted ? sum : sum / counted;
}

llvm::Expected<double> ErrorAttribution::measure(ArrayRef<unsigned> active,
                                                 float share) {
  std::vector<float> scales(spots.getNumMarkers());
  for (unsigned spot : active)
    scales[spots.get()[spot].marker] = share;
  double sum = 0;
  for (size_t batch = 0; batch < batches.size(); ++batch) {
    auto results = run(batch, scales);
    if (!results)
      return results.takeError();
    sum += getSquaredError(*results, references[batch]);
  }
  return std::sqrt(sum / double(batches.size()));
}

double ErrorAttribution::predict(ArrayRef<unsigned> active) const {
  double sum = 0;
  for (unsigned spot : active)
    sum += terms[spots.get()[spot].marker];
  return std::sqrt(sum);
}

//===----------------------------------------------------------------------===//
// Probes
//===----------------------------------------------------------------------===//

/// Random signs over the norms of outputs, so that terms are squared relative
/// errors.
llvm::Expected<std::vector<NamedTensor>>
ErrorAttribution::makeProbes(size_t batch, uint64_t seed) const {
  const Reference &reference = references[batch];
  size_t counted =
      llvm::count_if(reference.norms, [](double norm) { return norm > 0; });
  std::mt19937_64 random(options.seed * 1000003 + seed);
  std::vector<NamedTensor> probes;
  for (auto [name, sizes, norm] :
       llvm::zip(probeNames, outputSizes, reference.norms)) {
    auto tensor = Tensor::create(ElementKind::Float, sizes);
    if (!tensor)
      return tensor.takeError();
    double weight = norm > 0 ? 1 / std::sqrt(norm) : 0;
    if (!outputs.areGradients && counted)
      weight /= std::sqrt(double(counted));
    uint64_t bits = 0;
    for (auto [place, element] : llvm::enumerate(tensor->get<float>())) {
      if (place % 64 == 0)
        bits = random();
      element = float(bits & 1 ? weight : -weight);
      bits >>= 1;
    }
    probes.push_back({name, std::move(*tensor)});
  }
  return probes;
}

llvm::Expected<std::vector<double>> ErrorAttribution::probe(size_t batch,
                                                            uint64_t seed) {
  auto probes = makeProbes(batch, seed);
  if (!probes)
    return probes.takeError();
  if (!adjoint) {
    std::unique_ptr<Model> model =
        Model::copy(marked->getModule(), options.name);
    if (llvm::Error failed = addTerms(*model))
      return std::move(failed);
    for (auto [probe, name] : llvm::zip(*probes, probeNames))
      probe.name = name;
    auto session = open(std::move(model), *probes);
    if (!session)
      return session.takeError();
    adjoint.emplace(std::move(*session));
  }
  if (llvm::Error failed = bind(*adjoint, batch, *probes))
    return std::move(failed);
  Stopwatch watch(figures.probeSeconds);
  ++figures.probes;
  auto results = adjoint->run();
  if (!results)
    return results.takeError();
  return results->front().tensor.toDoubles();
}

/// Rewrites a copy of the marked model.
llvm::Error ErrorAttribution::addTerms(Model &model) {
  std::string reason;
  ScopedDiagnosticHandler handler(
      model.getModule().getContext(), [&](Diagnostic &message) {
        if (reason.empty() &&
            message.getSeverity() == DiagnosticSeverity::Error)
          reason = message.str();
        return success();
      });
  auto added = addErrorTerms(model.getModule(), spots.getNumMarkers(), kind);
  if (failed(added))
    return makeError(
        {ErrorKind::NotSupported, "errors cannot be attributed: " + reason});
  probeNames = added->probes;
  return llvm::Error::success();
}

llvm::Error ErrorAttribution::attribute() {
  std::vector<double> totals;
  terms.assign(spots.getNumMarkers(), 0);
  size_t count = std::max<size_t>(options.probes, batches.size());
  probeNames.assign(outputs.names.size(), "");
  for (size_t number = 0; number < count; ++number) {
    auto found = probe(number % batches.size(), number);
    if (!found)
      return found.takeError();
    for (auto [term, part] : llvm::zip(terms, *found))
      term += part / double(count);
    totals.push_back(std::accumulate(found->begin(), found->end(), 0.0));
  }
  double mean = std::accumulate(totals.begin(), totals.end(), 0.0) / count;
  double squares = 0;
  for (double total : totals)
    squares += (total - mean) * (total - mean);
  spread =
      count > 1 && mean > 0 ? std::sqrt(squares / double(count - 1)) / mean : 0;
  return llvm::Error::success();
}

//===----------------------------------------------------------------------===//
// Construction
//===----------------------------------------------------------------------===//

llvm::Expected<std::unique_ptr<ErrorAttribution>>
ErrorAttribution::create(ModuleOp module, ElementKind kind,
                         std::vector<DataSet> batches,
                         AttributionOptions options) {
  std::unique_ptr<ErrorAttribution> made(
      new ErrorAttribution(std::move(options)));
  made->kind = kind;
  made->batches = std::move(batches);
  if (llvm::Error failed = made->prepare(module))
    return std::move(failed);
  std::unique_ptr<Model> model =
      Model::copy(made->marked->getModule(), made->options.name);
  made->scalesName =
      addRoundings(model->getModule(), made->spots.getNumMarkers(), kind);
  std::vector<float> none(made->spots.getNumMarkers());
  auto scales = makeVector(none);
  if (!scales)
    return scales.takeError();
  auto session =
      made->open(std::move(model), NamedTensor{made->scalesName, *scales});
  if (!session)
    return session.takeError();
  made->rounding.emplace(std::move(*session));
  if (llvm::Error failed = made->runReference())
    return std::move(failed);
  return made;
}

} // namespace mp
