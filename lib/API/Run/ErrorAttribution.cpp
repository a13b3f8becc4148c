//===- ErrorAttribution.cpp - What each rounding does to outputs ----------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/API/Run/ErrorAttribution.h"

#include "Stopwatch.h"
#include "mp-opt/Autodiff/Autodiff.h"
#include "mp-opt/Training/Distribution.h"

#include "Autodiff/Passes.h"
#include "Graph/Passes.h"
#include "LossScaling/Passes.h"

#include <cmath>
#include <numeric>
#include <random>

using namespace mlir;

namespace mp {

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

llvm::Error ErrorAttribution::openRounding() {
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
ErrorAttribution::run(size_t batch, ArrayRef<float> scales) {
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
    for (const NamedTensor &source :
         ArrayRef(*results).drop_front(outputs.names.size()))
      reference.kinks.push_back(source.tensor);
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
  for (auto [index, result] :
       llvm::enumerate(results.take_front(outputs.names.size()))) {
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

std::vector<float> ErrorAttribution::getScales(ArrayRef<unsigned> active,
                                               float share) const {
  std::vector<float> scales(spots.getNumMarkers());
  for (unsigned spot : active)
    scales[spots.get()[spot].marker] = share;
  return scales;
}

llvm::Expected<double> ErrorAttribution::measure(ArrayRef<unsigned> active,
                                                 float share) {
  std::vector<float> scales = getScales(active, share);
  double sum = 0;
  for (size_t batch = 0; batch < batches.size(); ++batch) {
    auto results = run(batch, scales);
    if (!results)
      return results.takeError();
    sum += getSquaredError(*results, references[batch]);
  }
  return std::sqrt(sum / double(batches.size()));
}

ErrorAttribution::Term ErrorAttribution::sum(ArrayRef<unsigned> some) const {
  Term all;
  for (unsigned spot : some) {
    const Term &term = terms[spots.get()[spot].marker];
    all.error += term.error;
    all.kinkShare += term.kinkShare;
  }
  return all;
}

double ErrorAttribution::predict(ArrayRef<unsigned> active) const {
  Term all = sum(active);
  double flips = kinks.counts() ? kinks.error * std::sqrt(all.kinkShare) : 0;
  return std::sqrt(all.error + flips);
}

double ErrorAttribution::getContribution(ArrayRef<unsigned> some) const {
  Term all = sum(some);
  return all.error + (kinks.counts() ? kinks.error * all.kinkShare : 0);
}

//===----------------------------------------------------------------------===//
// Kinks
//===----------------------------------------------------------------------===//

/// The squared errors of a kink's source, where they may cause flips: near the
/// bound or, of a pool, everywhere but at the zeros behind a Relu.
static void addDeviation(const Tensor &expected, const Tensor &actual,
                         bool isPool, double &sum, double &count) {
  std::vector<double> values = expected.toDoubles();
  double limit = 0.3 * std::sqrt(getSquaredNorm(values) /
                                 double(std::max<size_t>(values.size(), 1)));
  std::vector<double> others = actual.toDoubles();
  for (auto [value, other] : llvm::zip(values, others)) {
    if (isPool ? value == 0 : std::abs(value) > limit)
      continue;
    sum += (other - value) * (other - value);
    ++count;
  }
}

/// Measures the deviation of each kink's source if these spots round.
llvm::Error ErrorAttribution::measureKinks(ArrayRef<unsigned> active) {
  size_t numKinks = roundingInputs.kinks.size();
  std::vector<double> sums(numKinks), counts(numKinks);
  std::vector<float> scales = getScales(active, 1);
  for (size_t batch = 0; batch < batches.size() && numKinks; ++batch) {
    auto results = run(batch, scales);
    if (!results)
      return results.takeError();
    auto sources = ArrayRef(*results).drop_front(outputs.names.size());
    for (size_t kink = 0; kink < numKinks; ++kink)
      addDeviation(references[batch].kinks[kink], sources[kink].tensor,
                   roundingInputs.kinks[kink], sums[kink], counts[kink]);
  }
  deviations.clear();
  for (auto [sum, count] : llvm::zip(sums, counts)) {
    double deviation = count ? std::sqrt(sum / count) : 0;
    deviations.push_back(std::isfinite(deviation) ? float(deviation) : 0);
  }
  return llvm::Error::success();
}

//===----------------------------------------------------------------------===//
// Probes
//===----------------------------------------------------------------------===//

namespace {
/// Random signs times a weight.
class Signs {
public:
  explicit Signs(uint64_t seed) : random(seed) {}

  llvm::Expected<Tensor> make(ArrayRef<int64_t> sizes, double weight) {
    auto tensor = Tensor::create(ElementKind::Float, sizes);
    if (!tensor || !(weight > 0))
      return tensor;
    uint64_t bits = 0;
    for (auto [place, element] : llvm::enumerate(tensor->get<float>())) {
      if (place % 64 == 0)
        bits = random();
      element = float(bits & 1 ? weight : -weight);
      bits >>= 1;
    }
    return tensor;
  }

private:
  std::mt19937_64 random;
};
} // namespace

/// Signs over the norms of outputs, so that terms are squared relative errors;
/// or, with weights, signs of the sources of kinks.
llvm::Expected<std::vector<NamedTensor>>
ErrorAttribution::makeProbes(size_t batch, uint64_t seed,
                             ArrayRef<double> kinkWeights) const {
  const Reference &reference = references[batch];
  size_t counted = outputs.areGradients
                       ? 1
                       : llvm::count_if(reference.norms,
                                        [](double norm) { return norm > 0; });
  Signs signs(options.seed * 1000003 + seed);
  std::vector<NamedTensor> probes;
  auto add = [&](StringRef name, ArrayRef<int64_t> sizes,
                 double weight) -> llvm::Error {
    auto tensor = signs.make(sizes, weight);
    if (!tensor)
      return tensor.takeError();
    probes.push_back({name.str(), std::move(*tensor)});
    return llvm::Error::success();
  };
  for (auto [name, sizes, norm] :
       llvm::zip(errorInputs.probes, outputSizes, reference.norms)) {
    bool isUsed = norm > 0 && kinkWeights.empty();
    if (llvm::Error failed = add(
            name, sizes, isUsed ? 1 / std::sqrt(norm * double(counted)) : 0))
      return std::move(failed);
  }
  for (auto [number, name] : llvm::enumerate(errorInputs.kinkProbes)) {
    double weight = kinkWeights.empty() ? 0 : kinkWeights[number];
    if (llvm::Error failed =
            add(name, reference.kinks[number].getSizes(), weight))
      return std::move(failed);
  }
  if (deviations.empty())
    return probes;
  auto tensor = makeVector(deviations);
  if (!tensor)
    return tensor.takeError();
  probes.push_back({errorInputs.deviations, std::move(*tensor)});
  return probes;
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
  auto added = addErrorTerms(model.getModule(), spots.getNumMarkers(), kind,
                             outputs.areGradients);
  if (failed(added))
    return makeError({ErrorKind::NotSupported,
                      "errors cannot be attributed to nodes: " + reason});
  errorInputs = std::move(*added);
  return llvm::Error::success();
}

llvm::Error ErrorAttribution::openAdjoint() {
  std::unique_ptr<Model> model = Model::copy(marked->getModule(), options.name);
  if (llvm::Error failed = addTerms(*model))
    return failed;
  auto probes = makeProbes(0, 0, {});
  if (!probes)
    return probes.takeError();
  auto session = open(std::move(model), *probes);
  if (!session)
    return session.takeError();
  adjoint.emplace(std::move(*session));
  return llvm::Error::success();
}

llvm::Expected<ErrorAttribution::Found>
ErrorAttribution::probe(size_t batch, uint64_t seed,
                        ArrayRef<double> kinkWeights) {
  auto probes = makeProbes(batch, seed, kinkWeights);
  if (!probes)
    return probes.takeError();
  if (llvm::Error failed = bind(*adjoint, batch, *probes))
    return std::move(failed);
  Stopwatch watch(figures.probeSeconds);
  ++figures.probes;
  auto results = adjoint->run();
  if (!results)
    return results.takeError();
  Found found;
  for (const NamedTensor &result : *results)
    found.push_back(result.tensor.toDoubles());
  return found;
}

static double addUp(ArrayRef<double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

llvm::Error ErrorAttribution::probeOutputs() {
  std::vector<double> totals;
  size_t count = std::max<size_t>(options.probes, batches.size());
  terms.assign(spots.getNumMarkers(), {});
  kinkErrors.assign(deviations.size(), 0);
  for (size_t number = 0; number < count; ++number) {
    auto found = probe(number % batches.size(), number, {});
    if (!found)
      return found.takeError();
    for (auto [term, part] : llvm::zip(terms, found->front()))
      term.error += part / double(count);
    totals.push_back(addUp(found->front()));
    if (deviations.empty())
      continue;
    for (auto [error, part] : llvm::zip(kinkErrors, (*found)[1]))
      error += part / double(count);
    kinks.flips += addUp((*found)[2]) / double(count);
  }
  kinks.error = addUp(kinkErrors);
  double mean = addUp(totals) / double(count), squares = 0;
  for (double total : totals)
    squares += (total - mean) * (total - mean);
  spread =
      count > 1 && mean > 0 ? std::sqrt(squares / double(count - 1)) / mean : 0;
  return llvm::Error::success();
}

/// Finds the share of each spot in the variance at kinks, each of which has the
/// weight of its effect.
llvm::Error ErrorAttribution::probeKinks(ArrayRef<unsigned> active) {
  if (!(kinks.error > 0))
    return llvm::Error::success();
  std::vector<double> weights;
  for (auto [number, error] : llvm::enumerate(kinkErrors)) {
    double elements = double(references[0].kinks[number].getNumElements());
    double deviation = deviations[number];
    weights.push_back(deviation > 0 ? std::sqrt(error / elements) / deviation
                                    : 0);
  }
  for (size_t batch = 0; batch < batches.size(); ++batch) {
    auto found = probe(batch, 1000 + batch, weights);
    if (!found)
      return found.takeError();
    for (auto [term, part] : llvm::zip(terms, found->front()))
      term.kinkShare += part;
  }
  double all = 0;
  for (unsigned spot : active)
    all += getTerm(spots.get()[spot]).kinkShare;
  for (Term &term : terms)
    term.kinkShare = all > 0 ? term.kinkShare / all : 0;
  return llvm::Error::success();
}

llvm::Error ErrorAttribution::attribute(ArrayRef<unsigned> active) {
  if (llvm::Error failed = measureKinks(active))
    return failed;
  if (llvm::Error failed = openAdjoint())
    return failed;
  if (llvm::Error failed = probeOutputs())
    return failed;
  return probeKinks(active);
}

llvm::Error ErrorAttribution::measureTime() {
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
  made->terms.resize(made->spots.getNumMarkers());
  if (llvm::Error failed = made->openRounding())
    return std::move(failed);
  if (llvm::Error failed = made->runReference())
    return std::move(failed);
  return made;
}

} // namespace mp
