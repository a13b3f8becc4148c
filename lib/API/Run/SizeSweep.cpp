//===- SizeSweep.cpp - A model at several sizes ---------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/API/Run/SizeSweep.h"

#include "mp-opt/API/Model/TensorText.h"
#include "mp-opt/Execution/DeviceCost.h"
#include "mp-opt/Graph/ValueSizes.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/MathExtras.h"

using namespace llvm;

namespace mp {

StringRef findPrecision(mlir::ModuleOp module) {
  StringRef found;
  auto look = [&](mlir::Type type) {
    auto shaped = dyn_cast<mlir::ShapedType>(type);
    if (shaped && shaped.getElementType().isBF16())
      found = "bf16";
    else if (shaped && shaped.getElementType().isF16())
      found = "fp16";
  };
  module.walk([&](mlir::Operation *op) {
    for_each(op->getResultTypes(), look);
    for_each(op->getOperandTypes(), look);
    return found.empty() ? mlir::WalkResult::advance()
                         : mlir::WalkResult::interrupt();
  });
  return found;
}

//===----------------------------------------------------------------------===//
// Measuring
//===----------------------------------------------------------------------===//

/// The total size of the inputs, computed before they are allocated.
static int64_t countInputBytes(ArrayRef<ModelValue> inputs) {
  uint64_t total = 0;
  for (const ModelValue &input : inputs) {
    uint64_t bytes = getElementBytes(input.kind);
    for (int64_t size : input.sizes)
      bytes = SaturatingMultiply(bytes,
                                 uint64_t(size < 0 ? defaultDimension : size));
    total = SaturatingAdd(total, bytes);
  }
  return int64_t(std::min<uint64_t>(total, INT64_MAX));
}

namespace {
class Sweeper {
public:
  Sweeper(const DataSet &data, const SizeSweepOptions &options)
      : data(data), options(options), binding(options.binding) {}

  Expected<SizeSweep> run();

private:
  Error measureRow(SizeSweep::Row &row, StringRef precision);
  Expected<bool> plan(SizeSweep::Row &row, std::unique_ptr<Model> model);

  const DataSet &data;
  const SizeSweepOptions &options;
  /// Options for the current row. Notes are given only once.
  BindingOptions binding;
  CompileOptions compile;
  SizeSweep result;
  /// The memory available for inputs, which are allocated on the host.
  int64_t hostBytes = 0;
};
} // namespace

/// True if it fits.
Expected<bool> Sweeper::plan(SizeSweep::Row &row,
                             std::unique_ptr<Model> model) {
  auto inputs = model->getInputs(compile.dims);
  if (!inputs)
    return inputs.takeError();
  for (const ModelValue &input : *inputs)
    result.isBatch |=
        !input.dimNames.empty() && input.dimNames.front() == options.dim;
  row.memory.inputs = countInputBytes(*inputs);
  // Inputs are made here, unless nothing runs and sizes are known without them.
  bool isBound = !options.estimated || !data.inputs.empty() || binding.seed;
  if (row.memory.inputs > result.memoryBytes ||
      (isBound && row.memory.inputs > hostBytes))
    return false;
  if (isBound) {
    auto bound = bindInputs(*inputs, data, binding);
    if (!bound)
      return bound.takeError();
    binding.onMessage = nullptr;
    addSizes(*inputs, *bound, compile);
  }
  auto memory = model->planMemory(compile);
  if (!memory)
    return memory.takeError();
  row.memory = *memory;
  row.isPlanned = true;
  return memory->getNeeded() <= result.memoryBytes;
}

Error Sweeper::measureRow(SizeSweep::Row &row, StringRef precision) {
  compile = options.compile;
  compile.dims[options.dim] = row.size;
  auto model = options.read(precision, compile.dims);
  if (!model)
    return model.takeError();
  row.precision = !precision.empty() ? precision.str() : "fp32";
  if (StringRef own = findPrecision((*model)->getModule()); !own.empty())
    row.precision = own.str();
  Expected<bool> fits = plan(row, std::move(*model));
  if (!fits)
    return fits.takeError();
  row.fits = *fits;
  if (!row.fits)
    return Error::success();
  auto again = options.read(precision, compile.dims);
  if (!again)
    return again.takeError();
  if (options.estimated) {
    Expected<DevicePlan> plan = (*again)->plan(compile);
    if (!plan)
      return plan.takeError();
    row.least = countCost(*plan, *options.estimated).getSeconds();
    return Error::success();
  }
  auto session = Session::create(std::move(*again), data, {compile, binding});
  if (!session)
    return session.takeError();
  if (options.calls.keepStates)
    if (Error failed = session->takeStates())
      return failed;
  Expected<Measurement> measured = measure(*session, options.calls);
  if (!measured)
    return measured.takeError();
  row.measured = std::move(*measured);
  return Error::success();
}

Expected<SizeSweep> Sweeper::run() {
  result.dim = options.dim;
  result.isEstimated = options.estimated;
  std::pair<DeviceKind, int64_t *> asked[] = {
      {DeviceKind::CPU, &hostBytes},
      {options.compile.device, &result.memoryBytes}};
  if (options.estimated) {
    result.memoryBytes = int64_t(options.estimated->memoryBytes);
    result.deviceNote = options.estimated->note;
  }
  for (auto [kind, to] : ArrayRef(asked).drop_back(options.estimated ? 1 : 0)) {
    Expected<int64_t> bytes = getMemoryBytes(kind);
    if (!bytes)
      return prefixError("--device", bytes.takeError());
    *to = *bytes;
  }
  for (int64_t size : options.sizes)
    for (const std::string &precision : options.precisions) {
      SizeSweep::Row &row = result.rows.emplace_back();
      row.size = size;
      if (Error failed = measureRow(row, precision))
        return failed;
    }
  return std::move(result);
}

Expected<SizeSweep> sweepSizes(const DataSet &data,
                               const SizeSweepOptions &options) {
  return Sweeper(data, options).run();
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

std::optional<int64_t> SizeSweep::getLargest(StringRef precision) const {
  std::vector<const Row *> planned;
  for (const Row &row : rows)
    if (row.isPlanned && row.precision == precision)
      planned.push_back(&row);
  if (planned.size() < 2)
    return std::nullopt;
  const Row &first = *planned[planned.size() - 2], &second = *planned.back();
  double slope = double(second.memory.getNeeded() - first.memory.getNeeded()) /
                 double(second.size - first.size);
  if (slope <= 0)
    return std::nullopt;
  double room = double(memoryBytes - second.memory.getNeeded());
  return std::max<int64_t>(0, second.size + int64_t(std::floor(room / slope)));
}

std::optional<double> SizeSweep::Row::getSeconds() const {
  return measured ? measured->getPercentile(0.5) : least;
}

static std::string formatBytes(int64_t bytes) {
  std::string text;
  raw_string_ostream os(text);
  double number = double(bytes) / 1024;
  size_t unit = 0;
  constexpr StringLiteral units[] = {"KiB", "MiB", "GiB", "TiB"};
  for (; number >= 1024 && unit + 1 < std::size(units); ++unit)
    number /= 1024;
  os << format("%.1f ", number) << units[unit];
  return text;
}

/// The precisions without duplicates, in the order of the rows.
static SetVector<StringRef> getPrecisions(const SizeSweep &sweep) {
  SetVector<StringRef> precisions;
  for (const SizeSweep::Row &row : sweep.rows)
    precisions.insert(row.precision);
  return precisions;
}

void SizeSweep::print(raw_ostream &os) const {
  size_t width = std::max<size_t>(dim.size(), 8);
  auto line = [&](StringRef size, StringRef precision, StringRef time,
                  StringRef rate, StringRef memory) {
    os << padLeft(size, width) << "  " << pad(precision, 9) << padLeft(time, 12)
       << padLeft(rate, 14) << padLeft(memory, 14) << "\n";
  };
  line(dim, "precision", isEstimated ? "least ms" : "ms",
       isBatch ? "examples/s" : dim + "/s", "memory");
  for (const Row &row : rows) {
    std::string memory = formatBytes(row.memory.getTotal());
    std::optional<double> seconds = row.getSeconds();
    if (!seconds)
      line(std::to_string(row.size), row.precision, "too large", "",
           row.isPlanned ? memory : "> " + memory);
    else
      line(std::to_string(row.size), row.precision, formatError(*seconds * 1e3),
           std::to_string(std::llround(double(row.size) / *seconds)), memory);
  }
  os << "memory in all: " << formatBytes(memoryBytes) << "\n";
  if (!deviceNote.empty())
    os << deviceNote << "\n";
  for (StringRef precision : getPrecisions(*this))
    if (std::optional<int64_t> largest = getLargest(precision))
      os << "enough in " << precision << " for about " << dim << "=" << *largest
         << "\n";
}

static void printRow(const SizeSweep::Row &row, json::OStream &json) {
  json.object([&] {
    json.attribute("size", row.size);
    json.attribute("precision", row.precision);
    json.attribute("fits", row.fits);
    bool isMeasured = row.measured.has_value();
    for (auto [name, share] : {std::pair("median", 0.5), std::pair("p10", 0.1),
                               std::pair("p90", 0.9)})
      json.attribute(name, isMeasured
                               ? toJSON(row.measured->getPercentile(share))
                               : json::Value(nullptr));
    json.attribute("least",
                   row.least ? toJSON(*row.least) : json::Value(nullptr));
    std::optional<double> seconds = row.getSeconds();
    json.attribute("per_second", seconds ? toJSON(double(row.size) / *seconds)
                                         : json::Value(nullptr));
    json.attribute("input_bytes", row.memory.inputs);
    bool isPlanned = row.isPlanned;
    auto planned = [&](StringRef name, int64_t bytes) {
      json.attribute(name,
                     isPlanned ? json::Value(bytes) : json::Value(nullptr));
    };
    planned("output_bytes", row.memory.outputs);
    planned("constant_bytes", row.memory.constants);
    planned("arena_bytes", row.memory.arena);
    planned("next_input_bytes", row.memory.nextInputs);
    planned("memory_bytes", row.memory.getTotal());
  });
}

void SizeSweep::printJSON(raw_ostream &os) const {
  json::OStream json(os, 2);
  json.object([&] {
    json.attribute("dim", dim);
    json.attribute("memory_bytes", memoryBytes);
    if (!deviceNote.empty())
      json.attribute("device_note", deviceNote);
    json.attribute("threads", int64_t(getNumThreads()));
    json.attributeArray("rows", [&] {
      for (const Row &row : rows)
        printRow(row, json);
    });
    json.attributeObject("largest", [&] {
      for (StringRef precision : getPrecisions(*this)) {
        std::optional<int64_t> largest = getLargest(precision);
        json.attribute(precision,
                       largest ? json::Value(*largest) : json::Value(nullptr));
      }
    });
  });
  os << "\n";
}

} // namespace mp
