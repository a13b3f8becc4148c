//===- Bench.cpp - mp-run bench -------------------------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Commands.h"
#include "Model.h"

#include "mp-opt/API/TensorText.h"

#include "llvm/Support/Format.h"

#include <chrono>
#include <cmath>
#include <cstdio>
#include <sys/resource.h>

using namespace llvm;

namespace mp {

static constexpr StringLiteral help = R"(mp-run bench: measures a model

usage: mp-run bench MODEL [DATA | --random] [options]

Runs the model on the same inputs again and again and prints the median time,
its spread (10th to 90th percentile, interquartile range), the rate of
arithmetic, bytes, and the process's peak memory.

  --repeat=N            measured calls (as many as 3 seconds take, at least 10)
  --warmup=N            calls before them (3)
  --input=NAME=FILE, --raw=NAME:FILE:TYPE[SIZES], --random[=SEED]
                        inputs, as for mp-run run
  --json                print as JSON, every time included
  --turns               measure when asked: each line of standard input is two
                        numbers, calls and calls before them; the answer is a
                        line of JSON. So programs that are compared can take
                        turns.

  --dim=NAME=SIZE,... --threads=N --kernels=FORM --in-place --mixed-bf16
  --mixed-fp16 --schemas=FILE --external-data-root=DIR --cache=WHERE
  --mlir-timing         as for mp-run run
)";

namespace {
struct BenchFlags {
  ModelFlags model;
  DataFlags data;
  uint64_t repeat = 0, warmup = 3;
  bool json = false, turns = false;
  std::vector<std::string> files;

  std::optional<int> parse(Arguments arguments,
                           mlir::DialectRegistry &registry);
};

struct Measurement {
  /// In seconds, in the order of the calls.
  std::vector<double> times;
  CompileFigures compiled;
  int64_t peakBytes = 0, inputBytes = 0, outputBytes = 0;

  double getPercentile(double share) const;
  std::optional<double> getRate() const {
    if (!compiled.flops)
      return std::nullopt;
    return *compiled.flops / getPercentile(0.5);
  }
  void print(raw_ostream &os) const;
  void printJSON(raw_ostream &os, unsigned indent) const;
};
} // namespace

std::optional<int> BenchFlags::parse(Arguments arguments,
                                     mlir::DialectRegistry &registry) {
  Flags flags("mp-run bench", help);
  model.addTo(flags);
  data.addTo(flags);
  flags.add("repeat", repeat, 1);
  flags.add("warmup", warmup);
  flags.add("json", json);
  flags.add("turns", turns);
  if (std::optional<int> code = flags.parse(arguments, files))
    return code;
  if (files.empty() || files.size() > 2)
    return flags.usageError("expected a model and, perhaps, its data, got " +
                            Twine(files.size()) + " files");
  if (std::optional<int> code = data.check(flags))
    return code;
  return model.apply(flags, registry);
}

/// Between the two nearest times, as NumPy does it.
double Measurement::getPercentile(double share) const {
  std::vector<double> sorted = times;
  llvm::sort(sorted);
  double place = share * double(sorted.size() - 1);
  size_t below = size_t(place), above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] +
         (place - double(below)) * (sorted[above] - sorted[below]);
}

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

static Error measure(Program &program, MutableArrayRef<Tensor> inputs,
                     const BenchFlags &flags, Measurement &to) {
  using Clock = std::chrono::steady_clock;
  SmallVector<Tensor> outputs;
  // As many as take three seconds, but enough for percentiles.
  constexpr double longest = 3;
  constexpr uint64_t fewest = 10, most = 10000;
  double sum = 0;
  auto isDone = [&](uint64_t calls) {
    return flags.repeat ? calls >= flags.repeat
                        : calls >= most || (calls >= fewest && sum >= longest);
  };
  auto run = [&]() -> Error {
    if (Error failed = program.run(inputs, outputs))
      return failed;
    // As in training; else each call would begin with copies of the defaults.
    if (flags.model.inPlace)
      for (auto [value, tensor] : llvm::zip(program.getOutputs(), outputs))
        if (value.state >= 0)
          inputs[value.state] = tensor;
    return Error::success();
  };
  for (uint64_t call = 0; call < flags.warmup; ++call)
    if (Error failed = run())
      return failed;
  for (uint64_t call = 0; !isDone(call); ++call) {
    auto start = Clock::now();
    if (Error failed = run())
      return failed;
    std::chrono::duration<double> taken = Clock::now() - start;
    to.times.push_back(taken.count());
    sum += taken.count();
  }
  to.compiled = program.getFigures();
  to.inputBytes = countBytes(inputs);
  to.outputBytes = countBytes(outputs);
  to.peakBytes = getPeakBytes();
  return Error::success();
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
  row("bytes of constants", Twine(compiled.constantBytes));
  row("bytes of activations", Twine(compiled.arenaBytes));
  row("bytes of code", Twine(compiled.codeBytes));
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
    json.attribute("output_bytes", outputBytes);
    json.attribute("constant_bytes", compiled.constantBytes);
    json.attribute("arena_bytes", compiled.arenaBytes);
    json.attribute("code_bytes", compiled.codeBytes);
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

/// States get memory that calls may write over.
static Error takeStates(Program &program, MutableArrayRef<Tensor> inputs) {
  for (const ProgramValue &output : program.getOutputs()) {
    if (output.state < 0 || inputs[output.state].getData() ||
        !program.getInputs()[output.state].hasDefault)
      continue;
    Expected<Tensor> state = program.takeDefault(output.state);
    if (!state)
      return state.takeError();
    inputs[output.state] = std::move(*state);
  }
  return Error::success();
}

/// Measures as often as a line of standard input asks for it.
static int takeTurns(Program &program, MutableArrayRef<Tensor> inputs,
                     BenchFlags flags) {
  char line[64];
  while (std::fgets(line, sizeof line, stdin)) {
    auto [calls, before] = StringRef(line).trim().split(' ');
    if (calls.getAsInteger(10, flags.repeat) || !flags.repeat ||
        before.getAsInteger(10, flags.warmup)) {
      errs() << "mp-run: error: --turns: expected two numbers, calls and calls "
                "before them, got '"
             << StringRef(line).trim() << "'\n";
      return exitBadInput;
    }
    Measurement measurement;
    if (Error failed = measure(program, inputs, flags, measurement))
      return reportError(std::move(failed));
    measurement.printJSON(outs(), /*indent=*/0);
    outs().flush();
  }
  return finishOutput(exitOk);
}

int runBench(Arguments arguments, mlir::DialectRegistry &registry) {
  BenchFlags flags;
  if (std::optional<int> code = flags.parse(arguments, registry))
    return *code;
  Model model(registry);
  if (int code = model.read(flags.files[0], flags.model))
    return code;
  if (int code = model.mix(flags.model.getPrecision(), flags.model))
    return code;
  Expected<DataSet> data =
      flags.data.read(flags.files.size() > 1 ? flags.files[1] : "");
  if (!data)
    return reportError(data.takeError());
  CompileOptions options = flags.model.getOptions();
  std::vector<ModelValue> inputs = model.getInputs(options.dims);
  auto bound = bindInputs(inputs, *data, flags.data);
  if (!bound)
    return reportError(bound.takeError());
  addSizes(inputs, *bound, options);
  std::unique_ptr<Program> program = model.compile(options);
  if (!program)
    return exitNotSupported;
  if (flags.model.inPlace) {
    if (Error failed = takeStates(*program, *bound))
      return reportError(std::move(failed));
    model.releasePages();
  }
  if (flags.turns)
    return takeTurns(*program, *bound, flags);
  Measurement measurement;
  if (Error failed = measure(*program, *bound, flags, measurement))
    return reportError(std::move(failed));
  if (flags.json)
    measurement.printJSON(outs(), /*indent=*/2);
  else
    measurement.print(outs());
  return finishOutput(exitOk);
}

} // namespace mp
