//===- Calibration.cpp - Ranges for the decision of a precision -----------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/API/Run/Calibration.h"

#include "mp-opt/API/Run/DataBatches.h"
#include "mp-opt/API/Run/RangeStatistics.h"
#include "mp-opt/Data/Convert.h"
#include "mp-opt/Dialect/ONNX/Nodes.h"
#include "mp-opt/Graph/ValueSizes.h"
#include "mp-opt/Precision/Data/RangeMarks.h"

#include "llvm/ADT/StringExtras.h"

#include <chrono>

using namespace mlir;
using namespace mp::onnxir;

namespace mp {

static constexpr StringLiteral randomData = "random";
static constexpr uint64_t maxCalibrationBatches = 8;

//===----------------------------------------------------------------------===//
// Data
//===----------------------------------------------------------------------===//

static llvm::Error refuseRandom() {
  return llvm::createStringError(
      "--calibrate=random: random numbers do not have the ranges of data: a "
      "trained model's values are up to 6 times larger on its data, and masks "
      "differ by thousands; give data, or --force-random if the model has "
      "fresh weights");
}

static llvm::Expected<std::vector<DataSet>>
makeRandomBatches(ArrayRef<ModelValue> inputs,
                  const CalibrationOptions &options) {
  if (!options.forcesRandom)
    return refuseRandom();
  std::vector<DataSet> batches;
  for (uint64_t number = 0; number < maxCalibrationBatches; ++number) {
    BindingOptions binding;
    // Each input takes the next seed.
    binding.seed = number * (inputs.size() + 1);
    if (number == 0)
      binding.onMessage = options.onMessage;
    auto bound = bindInputs(inputs, DataSet(), binding);
    if (!bound)
      return bound.takeError();
    DataSet &batch = batches.emplace_back();
    for (auto [input, tensor] : llvm::zip(inputs, *bound))
      if (tensor.getData())
        batch.inputs.push_back({input.name, tensor});
  }
  return std::move(batches);
}

static llvm::Expected<std::vector<DataSet>>
readBatches(ModuleOp module, ArrayRef<ModelValue> inputs,
            const CalibrationOptions &options) {
  if (llvm::is_contained(options.data, randomData))
    return makeRandomBatches(inputs, options);
  DataBatchOptions reading;
  reading.limit = maxCalibrationBatches;
  reading.onMessage = options.onMessage;
  auto batches = readDataBatches(options.data, inputs, reading);
  if (!batches)
    return batches;
  if (llvm::Error failed = checkDataBatches(*batches, module))
    return std::move(failed);
  return batches;
}

llvm::Expected<std::vector<DataSet>>
readModelBatches(ModuleOp module, const CalibrationOptions &options) {
  CompileOptions compile;
  if (llvm::Error failed = parseDimensions(options.dims, compile.dims))
    return std::move(failed);
  auto inputs = Model::copy(module, "data")->getInputs(compile.dims);
  if (!inputs)
    return inputs.takeError();
  return readBatches(module, *inputs, options);
}

/// Sizes that all batches have; code for known sizes is faster.
static void addCommonSizes(ArrayRef<DataSet> batches, CompileOptions &compile) {
  llvm::StringMap<unsigned> seen;
  for (const DataSet &batch : batches)
    for (const NamedTensor &named : batch.inputs) {
      SmallVector<int64_t> sizes(named.tensor.getSizes());
      auto [it, isNew] = compile.inputSizes.try_emplace(named.name, sizes);
      if (isNew || it->second == sizes)
        ++seen[named.name];
    }
  for (const auto &entry : seen)
    if (entry.getValue() != batches.size())
      compile.inputSizes.erase(entry.getKey());
}

/// Adds the ranges of inputs, which no node computes.
static void measureInputs(const DataSet &batch, ObservedRanges &ranges) {
  for (const NamedTensor &named : batch.inputs) {
    if (!isFloat(named.tensor.getKind()))
      continue;
    ObservedRange range = measureTensor(named.tensor);
    auto [it, isNew] = ranges.values.try_emplace(named.name, range);
    if (!isNew)
      it->second.merge(range);
  }
}

llvm::Expected<ObservedRanges> calibrate(ModuleOp module,
                                         const CalibrationOptions &options) {
  CompileOptions compile;
  if (llvm::Error failed = parseDimensions(options.dims, compile.dims))
    return failed;
  StringRef name = "calibration";
  auto batches = readModelBatches(module, options);
  if (!batches)
    return batches.takeError();
  addCommonSizes(*batches, compile);
  auto statistics = RangeStatistics::create(module, name, compile);
  if (!statistics)
    return statistics.takeError();
  ObservedRanges ranges;
  auto start = std::chrono::steady_clock::now();
  for (auto [number, batch] : llvm::enumerate(*batches)) {
    if (llvm::Error failed =
            (*statistics)->run(batch.inputs, int64_t(number), ranges))
      return batch.path.empty() ? std::move(failed)
                                : prefixError(batch.path, std::move(failed));
    measureInputs(batch, ranges);
  }
  std::chrono::duration<double> taken =
      std::chrono::steady_clock::now() - start;
  ranges.batches = batches->size();
  if (options.onMessage)
    options.onMessage("", DiagnosticSeverity::Note,
                      "calibrated: " + Twine(ranges.values.size()) +
                          " values in " + Twine(ranges.batches) +
                          (ranges.batches == 1 ? " batch, " : " batches, ") +
                          llvm::formatv("{0:f3} s", taken.count()).str());
  return ranges;
}

//===----------------------------------------------------------------------===//
// Conversions
//===----------------------------------------------------------------------===//

namespace {

/// State between the start of a conversion and the pass that needs ranges.
class RangeSource {
public:
  explicit RangeSource(const CalibrationOptions &options) : options(options) {}

  void start(ModuleOp module) {
    if (!options.data.empty() || !options.ranges.empty())
      digest = getStructureDigest(module);
  }
  llvm::Error observe(ModuleOp module);
  /// Writes ranges that were measured.
  llvm::Error finish();

private:
  llvm::Expected<ObservedRanges> getRanges(ModuleOp module);
  llvm::Expected<ObservedRanges> readFiles() const;

  CalibrationOptions options;
  std::string digest;
  std::optional<ObservedRanges> measured;
  /// The place that the ranges come from, for messages.
  std::string origin;
};

} // namespace

llvm::Expected<ObservedRanges> RangeSource::readFiles() const {
  ObservedRanges all;
  all.model = digest;
  for (const std::string &path : options.ranges) {
    auto ranges = ObservedRanges::read(path);
    if (!ranges)
      return ranges.takeError();
    if (llvm::Error failed = all.merge(*ranges))
      return prefixError(path, std::move(failed));
  }
  return all;
}

llvm::Expected<ObservedRanges> RangeSource::getRanges(ModuleOp module) {
  if (options.data.empty()) {
    origin = llvm::join(options.ranges, ", ");
    return readFiles();
  }
  auto ranges = calibrate(module, options);
  if (!ranges)
    return ranges;
  ranges->model = digest;
  measured = *ranges;
  origin = "--calibrate";
  return ranges;
}

llvm::Error RangeSource::observe(ModuleOp module) {
  options.onMessage = [module](StringRef, DiagnosticSeverity severity,
                               const Twine &text) mutable {
    module->getContext()->getDiagEngine().emit(module.getLoc(), severity)
        << (severity == DiagnosticSeverity::Note ? "" : "--calibrate: ")
        << text;
  };
  std::optional<StringRef> held = getModelMetadata(module, rangesKey);
  bool isAsked = !options.data.empty() || !options.ranges.empty();
  if (!isAsked && !held)
    return llvm::Error::success();
  llvm::Expected<ObservedRanges> ranges =
      isAsked ? getRanges(module) : ObservedRanges::parse(*held);
  if (!ranges && !isAsked)
    return prefixError("metadata '" + rangesKey + "'", ranges.takeError());
  if (!ranges)
    return ranges.takeError();
  unsigned found = markRanges(module, *ranges);
  // Ranges of a training run are matched by names only.
  if (isAsked && found == 0 && !ranges->values.empty())
    return llvm::createStringError(
        origin + ": ranges of another model: none of their " +
        Twine(ranges->values.size()) + " values is one of this model's");
  if (!isAsked && options.onMessage)
    options.onMessage("", DiagnosticSeverity::Note,
                      "the ranges in the model's metadata are used, of " +
                          Twine(ranges->batches) + " batches");
  std::string text;
  llvm::raw_string_ostream os(text);
  ranges->print(os, /*isCompact=*/true);
  setModelMetadata(module, rangesKey, text);
  return llvm::Error::success();
}

llvm::Error RangeSource::finish() {
  if (!measured || options.ranges.empty() || options.isDryRun)
    return llvm::Error::success();
  return measured->write(options.ranges.front());
}

RangeObserver makeRangeObserver(const CalibrationOptions &options) {
  auto source = std::make_shared<RangeSource>(options);
  return {[source](ModuleOp module) { source->start(module); },
          [source](ModuleOp module) { return source->observe(module); },
          /*compiles=*/!options.data.empty(),
          [source] { return source->finish(); }};
}

} // namespace mp
