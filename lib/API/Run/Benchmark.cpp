//===- Benchmark.cpp - Measures the time of calls -------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/API/Run/Benchmark.h"

#include "mp-opt/API/Model/TensorText.h"

#include "llvm/Support/Format.h"

#include <chrono>
#include <sys/resource.h>

using namespace llvm;

namespace mp {

//===----------------------------------------------------------------------===//
// Measuring
//===----------------------------------------------------------------------===//

/// The most memory that this process has had at one time.
static int64_t getPeakBytes() {
  struct rusage usage = {};
  ::getrusage(RUSAGE_SELF, &usage);
  return int64_t(usage.ru_maxrss) * 1024;
}

static int64_t countBytes(ArrayRef<Tensor> tensors) {
  int64_t bytes = 0;
  for (const Tensor &tensor : tensors)
    if (tensor.getData())
      bytes += int64_t(tensor.getNumBytes());
  return bytes;
}

static Error call(Session &session, bool keepStates,
                  SmallVectorImpl<Tensor> &outputs) {
  Program &program = session.getProgram();
  ArrayRef<Tensor> inputs = session.getInputs();
  auto copyNext = [&]() -> Error {
    for (unsigned index = 0; index < inputs.size(); ++index)
      if (inputs[index].getData() && program.takesNextInput(index))
        if (Error failed = program.setNextInput(index, inputs[index]))
          return failed;
    return Error::success();
  };
  MeanwhileFn meanwhile;
  if (keepStates)
    meanwhile = copyNext;
  if (Error failed = program.run(inputs, outputs, meanwhile))
    return failed;
  if (keepStates)
    for (auto [value, tensor] : llvm::zip(program.getOutputs(), outputs))
      if (value.state >= 0)
        session.getInputs()[value.state] = tensor;
  return Error::success();
}

Expected<Measurement> measure(Session &session, const BenchmarkOptions &options,
                              function_ref<void()> onCall) {
  using Clock = std::chrono::steady_clock;
  // Without --repeat, calls are measured for three seconds, but at least as
  // many as percentiles need.
  constexpr double longest = 3;
  constexpr uint64_t fewest = 10, most = 10000;
  double sum = 0;
  auto isDone = [&](uint64_t calls) {
    return options.repeat
               ? calls >= options.repeat
               : calls >= most || (calls >= fewest && sum >= longest);
  };
  Measurement measured;
  SmallVector<Tensor> outputs;
  Program &program = session.getProgram();
  if (options.keepStates) {
    Expected<std::string> shortage = program.prepareNextInputs();
    if (!shortage)
      return shortage.takeError();
    measured.shortage = std::move(*shortage);
  }
  for (uint64_t i = 0; i < options.warmup; ++i)
    if (Error failed = call(session, options.keepStates, outputs))
      return failed;
  for (uint64_t i = 0; !isDone(i); ++i) {
    auto start = Clock::now();
    if (Error failed = call(session, options.keepStates, outputs))
      return failed;
    std::chrono::duration<double> taken = Clock::now() - start;
    measured.times.push_back(taken.count());
    sum += taken.count();
    if (onCall)
      onCall();
  }
  if (Error failed = program.dropNextInputs())
    return failed;
  measured.compiled = program.getFigures();
  measured.inputBytes = countBytes(session.getInputs());
  measured.outputBytes = countBytes(outputs);
  measured.peakBytes = getPeakBytes();
  return measured;
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

double Measurement::getPercentile(double share) const {
  std::vector<double> sorted = times;
  llvm::sort(sorted);
  double place = share * double(sorted.size() - 1);
  size_t below = size_t(place), above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] +
         (place - double(below)) * (sorted[above] - sorted[below]);
}

std::optional<double> Measurement::getRate() const {
  if (!compiled.flops)
    return std::nullopt;
  return *compiled.flops / getPercentile(0.5);
}

static std::string formatTime(double seconds) {
  std::string text;
  raw_string_ostream os(text);
  if (seconds < 1e-3)
    os << format("%.4g us", seconds * 1e6);
  else if (seconds < 1)
    os << format("%.4g ms", seconds * 1e3);
  else
    os << format("%.4g s", seconds);
  return text;
}

void Measurement::print(raw_ostream &os) const {
  auto row = [&](StringRef title, const Twine &value) {
    os << pad(title, 26) << value << "\n";
  };
  row("median", formatTime(getPercentile(0.5)) + " of " + Twine(times.size()) +
                    " calls, " + Twine(getNumThreads()) + " threads");
  row("10th to 90th percentile",
      formatTime(getPercentile(0.1)) + " to " + formatTime(getPercentile(0.9)));
  row("interquartile range",
      formatTime(getPercentile(0.75) - getPercentile(0.25)));
  if (std::optional<double> rate = getRate())
    row("GFLOP/s", formatShort(*rate / 1e9) + " of " +
                       formatShort(*compiled.flops / 1e9) + " GFLOP");
  else
    row("GFLOP/s", "unknown: the model has sizes that are");
  row("bytes in, out", Twine(inputBytes) + ", " + Twine(outputBytes));
  if (!shortage.empty())
    row("inputs",
        "copied in each call, not during the call before: " + Twine(shortage));
  row("bytes of constants", Twine(compiled.constantBytes));
  row("bytes of activations", Twine(compiled.arenaBytes));
  row("bytes of code", Twine(compiled.codeBytes));
  if (!compiled.droppedRoundings.empty())
    row("dropped roundings", Twine(compiled.droppedRoundings.size()));
  row("peak memory", formatShort(double(peakBytes) / (1 << 20)) + " MiB");
  row(compiled.isFromCache ? "from cache in" : "compiled in",
      formatTime(compiled.seconds));
}

void Measurement::printJSON(raw_ostream &os, unsigned indent) const {
  json::OStream json(os, indent);
  json.object([&] {
    json.attribute("median", getPercentile(0.5));
    json.attribute("p10", getPercentile(0.1));
    json.attribute("p25", getPercentile(0.25));
    json.attribute("p75", getPercentile(0.75));
    json.attribute("p90", getPercentile(0.9));
    json.attribute("threads", int64_t(getNumThreads()));
    std::optional<double> rate = getRate();
    json.attribute("flops", rate ? toJSON(*compiled.flops) : nullptr);
    json.attribute("gflops_per_second", rate ? toJSON(*rate / 1e9) : nullptr);
    json.attribute("input_bytes", inputBytes);
    if (!shortage.empty())
      json.attribute("inputs_not_copied_before", shortage);
    json.attribute("output_bytes", outputBytes);
    json.attribute("constant_bytes", compiled.constantBytes);
    json.attribute("arena_bytes", compiled.arenaBytes);
    json.attribute("code_bytes", compiled.codeBytes);
    json.attributeArray("dropped_roundings", [&] {
      for (const DroppedRounding &rounding : compiled.droppedRoundings)
        json.object([&] {
          json.attribute("value", rounding.value);
          json.attribute("node", rounding.node);
          json.attribute("precision", rounding.precision);
        });
    });
    json.attribute("peak_bytes", peakBytes);
    json.attribute("compile_seconds", compiled.seconds);
    json.attribute("from_cache", compiled.isFromCache);
    json.attributeArray("times", [&] {
      for (double time : times)
        json.value(time);
    });
  });
  os << "\n";
}

} // namespace mp
