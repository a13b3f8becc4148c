//===- DeviceEstimate.cpp - Estimated cost of a model on a device ---------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/API/Run/DeviceEstimate.h"

#include "mp-opt/API/Model/TensorText.h"
#include "mp-opt/Support/ShownText.h"

#include "llvm/Support/Format.h"

using namespace llvm;

namespace mp {

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

/// Multiply-adds are two operations.
static double countFlops(const DeviceCost &cost) {
  return 2 * double(cost.tensor + cost.fma) +
         double(cost.operations + cost.doubles);
}

static std::string formatNumber(double number) {
  std::string text;
  raw_string_ostream os(text);
  os << format("%.4g", number);
  return text;
}

static std::string formatMicroseconds(double seconds) {
  return formatNumber(seconds * 1e6);
}

static std::string formatBytes(uint64_t bytes) {
  return formatNumber(double(bytes) * 1e-6);
}

namespace {
/// The cost of one kernel, or of the copies, over all records that run it.
struct KernelRow {
  std::string name, node;
  DeviceCost cost;
  /// Predicted, with the bound of its longest launch.
  double seconds = 0, longest = 0;
  StringRef bound;
};
} // namespace

static std::vector<KernelRow> addUpKernels(const DeviceEstimate &estimate) {
  const DevicePlan &plan = estimate.plan;
  std::vector<KernelRow> rows(plan.kernels.size() + 1);
  for (auto [index, record] : enumerate(plan.records)) {
    if (record.whenSet)
      continue;
    bool isLaunch = record.kind == DevicePlan::RecordKind::Launch;
    KernelRow &row = isLaunch ? rows[record.kernel] : rows.back();
    row.name = isLaunch ? plan.kernels[record.kernel].name : "copies";
    if (row.node.empty())
      row.node = record.node;
    row.cost.add(estimate.cost.records[index]);
    if (!estimate.time)
      continue;
    const LaunchTime &time = estimate.time->records[index];
    row.seconds += time.seconds;
    if (time.seconds > row.longest) {
      row.longest = time.seconds;
      row.bound = time.bound;
    }
  }
  erase_if(rows, [](const KernelRow &row) { return row.name.empty(); });
  stable_sort(rows, [](const KernelRow &one, const KernelRow &other) {
    return std::pair(one.seconds, one.cost.seconds) >
           std::pair(other.seconds, other.cost.seconds);
  });
  return rows;
}

static void printCost(raw_ostream &os, StringRef title, const DeviceCost &cost,
                      double total) {
  os << pad(title, 14)
     << padLeft(std::to_string(cost.launches + cost.copies), 8)
     << padLeft(formatBytes(cost.readBytes), 11)
     << padLeft(formatBytes(cost.writtenBytes), 11)
     << padLeft(formatNumber(countFlops(cost) * 1e-9), 11)
     << padLeft(formatMicroseconds(cost.seconds), 11)
     << padLeft(formatPercent(total > 0 ? cost.seconds / total : 0), 8);
}

/// Predicted seconds by kinds: those of a launch of several kinds are divided
/// among them as their bytes are.
static std::map<device::WorkKind, double>
divideTimes(const DeviceEstimate &estimate) {
  std::map<device::WorkKind, double> kinds;
  for (auto [record, time] :
       zip(estimate.plan.records, estimate.time->records)) {
    double bytes = 0;
    for (const DevicePlan::Work &work : record.work)
      bytes += double(work.readBytes + work.writtenBytes);
    for (const DevicePlan::Work &work : record.work)
      kinds[work.kind] +=
          time.seconds *
          (bytes > 0 ? double(work.readBytes + work.writtenBytes) / bytes
                     : 1 / double(record.work.size()));
  }
  return kinds;
}

static void printPrediction(raw_ostream &os, const DeviceEstimate &estimate) {
  const PlanTime &time = *estimate.time;
  const DeviceConstants &fitted = getDeviceConstants(estimate.device);
  os << pad("predicted", 26) << formatMicroseconds(time.getSeconds())
     << " us: " << formatMicroseconds(time.callSeconds) << " for the call, "
     << formatMicroseconds(time.batchSeconds) << " for the batch, "
     << formatMicroseconds(fitted.launchSeconds)
     << " for each launch and copy\n";
  if (time.nextBytes)
    os << pad("copies of the next batch", 26) << formatBytes(time.nextBytes)
       << " MB during a call, in " << formatMicroseconds(time.nextSeconds)
       << " us (" << formatMicroseconds(time.linkSeconds)
       << " of them on the link): adds "
       << formatMicroseconds(time.getAddedSeconds()) << " us, and "
       << formatMicroseconds(time.takeSeconds)
       << " us for copies on the device\n";
  os << pad("error of predictions", 26) << formatPercent(fitted.error)
     << " over measured steps, at most " << formatPercent(fitted.leftOutError)
     << " for one that was left out\n";
  if (fitted.device != estimate.device.name)
    os << pad("", 26) << "measured on " << findDeviceModel(fitted.device)->title
       << "; for this device scaled by data sheets, and not measured\n";
  os << pad("registers", 26)
     << (time.hasEstimates
             ? "estimated: found no ptxas in PATH and no nvJitLink for " +
                   estimate.device.chip
             : "from machine code for " + estimate.device.chip)
     << "\n";
}

static void printHead(raw_ostream &os, StringRef title) {
  os << "\n"
     << pad(title, 14) << padLeft("launches", 8) << padLeft("MB read", 11)
     << padLeft("written", 11) << padLeft("GFLOP", 11) << padLeft("us", 11)
     << padLeft("share", 8) << padLeft("predicted", 11);
}

static void printTotals(raw_ostream &os, const DeviceEstimate &estimate) {
  const PlanCost &cost = estimate.cost;
  const DeviceCost &total = cost.total;
  auto row = [&](StringRef title, const Twine &value) {
    os << pad(title, 26) << value << "\n";
  };
  row("device", estimate.device.title + ", by its data sheet");
  if (!estimate.device.note.empty())
    row("", estimate.device.note);
  row("at least", formatMicroseconds(cost.getSeconds()) +
                      " us: " + formatMicroseconds(graphSeconds) +
                      " for the graph, " + formatMicroseconds(launchSeconds) +
                      " for each of " + Twine(total.launches) +
                      " launches and " + Twine(total.copies) + " copies, " +
                      formatMicroseconds(total.seconds) + " of work");
  row("bytes read, written",
      Twine(total.readBytes) + ", " + Twine(total.writtenBytes));
  row("multiply-adds", Twine(total.tensor) + " by tensor cores, " +
                           Twine(total.fma) + " others");
  row("other operations",
      Twine(total.operations) + ", " + Twine(total.doubles) + " of fp64");
  row("bytes of inputs", Twine(cost.inputBytes) + ", states " +
                             Twine(cost.stateBytes) + " of them");
  row("bytes of outputs", Twine(cost.outputBytes));
  row("bytes of constants", Twine(cost.constantBytes));
  row("bytes of activations", Twine(cost.arenaBytes));
  if (cost.nextBytes)
    row("bytes of the next batch", Twine(cost.nextBytes));
  auto formatGigabytes = [](uint64_t bytes) {
    return formatNumber(double(bytes) * 1e-9) + " GB";
  };
  row("memory",
      formatGigabytes(cost.getMemoryBytes()) + " of " +
          formatGigabytes(estimate.device.memoryBytes) + ": " +
          (estimate.fitsWithNextInputs() ? "fits"
           : estimate.fits() ? "fits if batches are copied before steps"
                             : "does not fit"));
}

void DeviceEstimate::print(raw_ostream &os) const {
  // Limit the table to the longest kernels.
  constexpr size_t maxKernels = 10;
  printTotals(os, *this);
  if (time)
    printPrediction(os, *this);
  auto kinds = time ? divideTimes(*this) : std::map<device::WorkKind, double>();
  double predicted = 0;
  printHead(os, "kind");
  os << "\n";
  for (const auto &[kind, sum] : cost.kinds) {
    printCost(os, device::stringifyWorkKind(kind), sum, cost.total.seconds);
    os << padLeft(formatMicroseconds(kinds[kind]), 11) << "\n";
    predicted += kinds[kind];
  }
  printCost(os, "total", cost.total, cost.total.seconds);
  os << padLeft(formatMicroseconds(predicted), 11) << "\n";
  std::vector<KernelRow> rows = addUpKernels(*this);
  printHead(os, "kernel");
  os << "  bound    first node\n";
  for (const KernelRow &row : ArrayRef(rows).take_front(maxKernels)) {
    printCost(os, row.name, row.cost, cost.total.seconds);
    os << padLeft(formatMicroseconds(row.seconds), 11) << "  "
       << pad(row.bound, row.node.empty() ? 0 : 9) << escapeText(row.node)
       << "\n";
  }
  if (rows.size() > maxKernels)
    os << "and " << rows.size() - maxKernels << " more (--json has all)\n";
}

//===----------------------------------------------------------------------===//
// JSON
//===----------------------------------------------------------------------===//

static void addFields(json::OStream &json, const DeviceCost &cost) {
  json.attribute("read_bytes", cost.readBytes);
  json.attribute("written_bytes", cost.writtenBytes);
  json.attribute("tensor_multiply_adds", cost.tensor);
  json.attribute("other_multiply_adds", cost.fma);
  json.attribute("operations", cost.operations);
  json.attribute("fp64_operations", cost.doubles);
  json.attribute("seconds", cost.seconds);
}

static void addRecord(json::OStream &json, const DeviceEstimate &estimate,
                      size_t index) {
  const DevicePlan::Record &record = estimate.plan.records[index];
  json.object([&] {
    switch (record.kind) {
    case DevicePlan::RecordKind::Launch:
      json.attribute("kernel", estimate.plan.kernels[record.kernel].name);
      json.attribute("grid", json::Array(record.grid));
      json.attribute("block", json::Array(record.block));
      json.attribute("shared", record.shared);
      break;
    case DevicePlan::RecordKind::Copy:
      json.attribute("kernel", "copy");
      break;
    case DevicePlan::RecordKind::Fill:
      json.attribute("kernel", "fill");
      break;
    case DevicePlan::RecordKind::ReduceStart:
    case DevicePlan::RecordKind::ReduceWait:
      json.attribute("kernel", "ranks");
      break;
    }
    json.attribute("node", record.node);
    json.attributeArray("kinds", [&] {
      for (const DevicePlan::Work &work : record.work)
        json.value(device::stringifyWorkKind(work.kind));
    });
    addFields(json, estimate.cost.records[index]);
    if (!estimate.time)
      return;
    const LaunchTime &time = estimate.time->records[index];
    json.attribute("predicted_seconds", time.seconds);
    json.attribute("bound", time.bound);
    if (record.kind == DevicePlan::RecordKind::Launch) {
      json.attribute("resident_blocks", time.resident);
      json.attribute("waves", time.waves);
    }
  });
}

static void addCounts(json::OStream &json, const KernelCounts &counts) {
  auto widths = [&](StringRef name, ArrayRef<double> values) {
    json.attributeArray(name, [&] {
      for (double value : values)
        json.value(value);
    });
  };
  widths("loads", counts.loads);
  widths("stores", counts.stores);
  widths("copies", counts.copies);
  json.attribute("shared_words", counts.shared);
  json.attribute("tensor", counts.tensor);
  json.attribute("floats", counts.floats);
  json.attribute("doubles", counts.doubles);
  json.attribute("special", counts.special);
  json.attribute("other", counts.other);
  json.attribute("barriers", counts.barriers);
  json.attribute("waits", counts.waits);
  json.attribute("atomics", counts.atomics);
  json.attribute("registers", counts.registers);
  json.attribute("is_estimated", counts.isEstimated);
  json.attribute("static_shared", counts.staticShared);
}

static void addPrediction(json::OStream &json, const DeviceEstimate &estimate) {
  const PlanTime &time = *estimate.time;
  const DeviceConstants &fitted = getDeviceConstants(estimate.device);
  json.attribute("predicted_seconds", time.getSeconds());
  json.attribute("call_seconds", time.callSeconds);
  json.attribute("batch_seconds", time.batchSeconds);
  json.attribute("next_seconds", time.nextSeconds);
  json.attribute("link_seconds", time.linkSeconds);
  json.attribute("take_seconds", time.takeSeconds);
  json.attribute("added_seconds", time.getAddedSeconds());
  json.attribute("measured_device", fitted.device);
  json.attribute("prediction_error", fitted.error);
  json.attribute("prediction_error_left_out", fitted.leftOutError);
  json.attribute("registers_are_estimated", time.hasEstimates);
}

void DeviceEstimate::printJSON(raw_ostream &os) const {
  json::OStream json(os, /*IndentSize=*/2);
  json.object([&] {
    json.attribute("device", device.name);
    if (!device.note.empty())
      json.attribute("device_note", device.note);
    json.attribute("seconds", cost.getSeconds());
    json.attribute("graph_seconds", graphSeconds);
    json.attribute("launch_seconds", launchSeconds);
    auto times =
        time ? divideTimes(*this) : std::map<device::WorkKind, double>();
    if (time)
      addPrediction(json, *this);
    json.attributeObject("total", [&] {
      json.attribute("launches", cost.total.launches);
      json.attribute("copies", cost.total.copies);
      addFields(json, cost.total);
    });
    json.attribute("input_bytes", cost.inputBytes);
    json.attribute("state_bytes", cost.stateBytes);
    json.attribute("output_bytes", cost.outputBytes);
    json.attribute("constant_bytes", cost.constantBytes);
    json.attribute("arena_bytes", cost.arenaBytes);
    json.attributeArray("next_inputs", [&] {
      for (uint64_t bytes : plan.getNextInputs())
        json.value(bytes);
    });
    json.attribute("memory_bytes", cost.getMemoryBytes());
    json.attribute("device_memory_bytes", device.memoryBytes);
    json.attribute("fits", fits());
    json.attributeObject("kinds", [&] {
      for (const auto &[kind, sum] : cost.kinds)
        json.attributeObject(
            device::stringifyWorkKind(kind), [&, &sum = sum, kind = kind] {
              json.attribute("launches", sum.launches);
              json.attribute("copies", sum.copies);
              addFields(json, sum);
              if (time)
                json.attribute("predicted_seconds", times[kind]);
            });
    });
    json.attributeObject("kernels", [&] {
      for (const DevicePlan::Kernel &kernel : plan.kernels)
        if (kernel.counts)
          json.attributeObject(kernel.name,
                               [&] { addCounts(json, *kernel.counts); });
    });
    json.attributeArray("launches", [&] {
      for (size_t index = 0; index < plan.records.size(); ++index)
        if (!plan.records[index].whenSet)
          addRecord(json, *this, index);
    });
  });
  os << "\n";
}

} // namespace mp
