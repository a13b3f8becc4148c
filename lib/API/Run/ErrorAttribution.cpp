//===- ErrorAttribution.cpp - What each rounding does to outputs ----------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/API/Run/ErrorAttribution.h"

#include "MarkedModel.h"

#include <cmath>
#include <numeric>
#include <random>

using namespace mlir;

namespace mp {

//===----------------------------------------------------------------------===//
// Errors
//===----------------------------------------------------------------------===//

static double getSquaredNorm(ArrayRef<double> values) {
  return std::accumulate(
      values.begin(), values.end(), 0.0,
      [](double sum, double value) { return sum + value * value; });
}

llvm::Error ErrorAttribution::runReference() {
  std::vector<float> none(model->getSpots().getNumMarkers());
  for (size_t batch = 0; batch < getNumBatches(); ++batch) {
    auto results = model->round(batch, none);
    if (!results)
      return results.takeError();
    Reference &reference = references.emplace_back();
    for (const NamedTensor &source :
         ArrayRef(*results).drop_front(model->getOutputs().names.size()))
      reference.kinks.push_back(source.tensor);
    for (auto [result, name] : llvm::zip(*results, model->getOutputs().names)) {
      if (!model->getOptions().metric.empty() &&
          result.tensor.getNumElements() != 1)
        return makeError(
            {ErrorKind::Usage, "--metric: expected a scalar, output '" + name +
                                   "' is " +
                                   describeType(result.tensor.getKind(),
                                                result.tensor.getSizes())});
      if (!isFinite(result.tensor))
        return llvm::createStringError(
            (areGradients() ? "the gradient '" : "output '") + name +
            "' is not finite in fp32 in batch " + Twine(batch) +
            ": errors cannot be attributed");
      reference.outputs.push_back(result.tensor.toDoubles());
      if (!batch)
        outputSizes.push_back(llvm::to_vector(result.tensor.getSizes()));
      reference.norms.push_back(getSquaredNorm(reference.outputs.back()));
    }
    if (areGradients()) {
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
       llvm::enumerate(results.take_front(model->getOutputs().names.size()))) {
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
  return areGradients() || !counted ? sum : sum / counted;
}

std::vector<float> ErrorAttribution::getScales(ArrayRef<unsigned> active,
                                               float share) const {
  std::vector<float> scales(model->getSpots().getNumMarkers());
  for (unsigned spot : active)
    scales[getSpots()[spot].marker] = share;
  return scales;
}

llvm::Expected<double> ErrorAttribution::measure(ArrayRef<unsigned> active,
                                                 float share) {
  std::vector<float> scales = getScales(active, share);
  double sum = 0;
  for (size_t batch = 0; batch < getNumBatches(); ++batch) {
    auto results = model->round(batch, scales);
    if (!results)
      return results.takeError();
    sum += getSquaredError(*results, references[batch]);
  }
  return std::sqrt(sum / double(getNumBatches()));
}

ErrorAttribution::Term ErrorAttribution::sum(ArrayRef<unsigned> some) const {
  Term all;
  for (unsigned spot : some) {
    const Term &term = terms[getSpots()[spot].marker];
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
  size_t numKinks = model->getKinks().size();
  std::vector<double> sums(numKinks), counts(numKinks);
  std::vector<float> scales = getScales(active, 1);
  for (size_t batch = 0; batch < getNumBatches() && numKinks; ++batch) {
    auto results = model->round(batch, scales);
    if (!results)
      return results.takeError();
    auto sources =
        ArrayRef(*results).drop_front(model->getOutputs().names.size());
    for (size_t kink = 0; kink < numKinks; ++kink)
      addDeviation(references[batch].kinks[kink], sources[kink].tensor,
                   model->getKinks()[kink], sums[kink], counts[kink]);
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
  const ErrorInputs &inputs = model->getErrorInputs();
  const Reference &reference = references[batch];
  size_t counted =
      areGradients() ? 1 : llvm::count_if(reference.norms, [](double norm) {
        return norm > 0;
      });
  Signs signs(seed);
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
       llvm::zip(inputs.probes, outputSizes, reference.norms)) {
    bool isUsed = norm > 0 && kinkWeights.empty();
    if (llvm::Error failed = add(
            name, sizes, isUsed ? 1 / std::sqrt(norm * double(counted)) : 0))
      return std::move(failed);
  }
  for (auto [number, name] : llvm::enumerate(inputs.kinkProbes)) {
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
  probes.push_back({inputs.deviations, std::move(*tensor)});
  return probes;
}

llvm::Expected<ErrorAttribution::Found>
ErrorAttribution::probe(size_t batch, uint64_t seed,
                        ArrayRef<double> kinkWeights) {
  auto probes = makeProbes(batch, seed, kinkWeights);
  if (!probes)
    return probes.takeError();
  return model->probe(batch, *probes);
}

static double addUp(ArrayRef<double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

llvm::Error ErrorAttribution::probeOutputs() {
  std::vector<double> totals;
  size_t count = std::max<size_t>(model->getOptions().probes, getNumBatches());
  terms.assign(model->getSpots().getNumMarkers(), {});
  kinkErrors.assign(deviations.size(), 0);
  for (size_t number = 0; number < count; ++number) {
    auto found = probe(number % getNumBatches(), number, {});
    if (!found)
      return found.takeError();
    for (auto [term, part] : llvm::zip(terms, found->front()))
      term.error += part / double(count);
    totals.push_back(addUp(found->front()));
    if (deviations.empty())
      continue;
    for (auto [error, part] : llvm::zip(kinkErrors, (*found)[1]))
      error += part / double(count);
    kinks.flips += addUp((*found)[2]) * double(getNumBatches()) / double(count);
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
  for (size_t batch = 0; batch < getNumBatches(); ++batch) {
    auto found = probe(batch, 1000 + batch, weights);
    if (!found)
      return found.takeError();
    for (auto [term, part] : llvm::zip(terms, found->front()))
      term.kinkShare += part;
  }
  double all = 0;
  for (unsigned spot : active)
    all += getTerm(getSpots()[spot]).kinkShare;
  for (Term &term : terms)
    term.kinkShare = all > 0 ? term.kinkShare / all : 0;
  return llvm::Error::success();
}

llvm::Error ErrorAttribution::settleLossScale(ArrayRef<unsigned> active) {
  while (areGradients()) {
    auto error = measure(active);
    if (!error)
      return error.takeError();
    if (std::isfinite(*error) || !model->halveLossScale())
      break;
  }
  return llvm::Error::success();
}

llvm::Error ErrorAttribution::attribute(ArrayRef<unsigned> active) {
  // Nothing may be 16 bit.
  if (terms.empty())
    return llvm::Error::success();
  if (llvm::Error failed = settleLossScale(active))
    return failed;
  if (llvm::Error failed = measureKinks(active))
    return failed;
  auto makeFirst = [&](const ErrorInputs &) { return makeProbes(0, 0, {}); };
  if (llvm::Error failed = model->openAdjoint(makeFirst))
    return failed;
  if (llvm::Error failed = probeOutputs())
    return failed;
  return probeKinks(active);
}

//===----------------------------------------------------------------------===//
// Construction
//===----------------------------------------------------------------------===//

ErrorAttribution::ErrorAttribution(std::unique_ptr<MarkedModel> model)
    : model(std::move(model)), terms(this->model->getSpots().getNumMarkers()) {}

ErrorAttribution::~ErrorAttribution() = default;

llvm::Expected<std::unique_ptr<ErrorAttribution>>
ErrorAttribution::create(ModuleOp module, ElementKind kind,
                         std::vector<DataSet> batches,
                         AttributionOptions options) {
  auto model =
      MarkedModel::create(module, kind, std::move(batches), std::move(options));
  if (!model)
    return model.takeError();
  std::unique_ptr<ErrorAttribution> made(
      new ErrorAttribution(std::move(*model)));
  if (llvm::Error failed = made->runReference())
    return std::move(failed);
  return made;
}

ArrayRef<RoundingSpot> ErrorAttribution::getSpots() const {
  return model->getSpots().get();
}

std::vector<unsigned> ErrorAttribution::findActive() const {
  return model->getSpots().findActive();
}

bool ErrorAttribution::areGradients() const {
  return model->getOutputs().areGradients;
}

size_t ErrorAttribution::getNumBatches() const {
  return model->getNumBatches();
}

const ErrorAttribution::Figures &ErrorAttribution::getFigures() const {
  return model->getFigures();
}

llvm::Error ErrorAttribution::measureTime() { return model->measureTime(); }

} // namespace mp
