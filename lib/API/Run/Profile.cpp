//===- Profile.cpp - Times of kernels and nodes ---------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/API/Run/Profile.h"

#include "mp-opt/API/Model/TensorText.h"
#include "mp-opt/Support/ShownText.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/Support/Format.h"

using namespace llvm;

namespace mp {

using device::WorkKind;

//===----------------------------------------------------------------------===//
// Measuring
//===----------------------------------------------------------------------===//

void KernelTime::add(const KernelTime &other) {
  seconds += other.seconds;
  bound += other.bound;
  flops += other.flops;
  bytes += other.bytes;
  kernels += other.kernels;
}

static double getMedian(std::vector<double> values) {
  auto middle = values.begin() + std::ptrdiff_t(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

static KernelTime getBound(const DevicePlan::Work &work,
                           const HostPeaks &peaks) {
  KernelTime time;
  time.kernels = 1;
  double floats = 2 * double(work.fma) + double(work.operations);
  time.flops = floats + 2 * double(work.tensor) + double(work.doubles);
  time.bytes = double(work.readBytes + work.writtenBytes);
  // The kinds of arithmetic are executed one after the other, and overlap with
  // memory transfers.
  double arithmetic = floats / peaks.floatRate +
                      2 * double(work.tensor) / peaks.narrowRate +
                      double(work.doubles) / peaks.doubleRate;
  time.bound = std::max(arithmetic, time.bytes / peaks.bandwidth);
  return time;
}

void Profile::addCall(ArrayRef<int64_t> ends) {
  for (size_t index = 0; index < kernels.size(); ++index)
    samples[index].push_back(1e-9 * double(ends[index + 1] - ends[index]));
  sums.push_back(1e-9 * double(ends.back() - ends.front()));
}

Expected<Profile> Profile::measure(Session &session,
                                   const BenchmarkOptions &options,
                                   const HostPeaks &peaks) {
  Profile profile;
  const Program &program = session.getProgram();
  profile.peaks = peaks;
  profile.kernels = program.getKernels().vec();
  profile.samples.resize(profile.kernels.size());
  std::vector<std::vector<int64_t>> calls;
  Expected<Measurement> measured = mp::measure(session, options, [&] {
    profile.addCall(program.getTimes());
    calls.push_back(program.getTimes().vec());
  });
  if (!measured)
    return measured.takeError();
  profile.calls = std::move(*measured);
  auto getLength = [](const std::vector<int64_t> &ends) {
    return ends.back() - ends.front();
  };
  auto middle = calls.begin() + std::ptrdiff_t(calls.size() / 2);
  std::nth_element(calls.begin(), middle, calls.end(),
                   [&](const auto &one, const auto &other) {
                     return getLength(one) < getLength(other);
                   });
  profile.medianCall = *middle;
  profile.finish();
  return profile;
}

void Profile::finish() {
  for (auto [kernel, ofKernel] : zip(kernels, samples)) {
    KernelTime time = getBound(kernel.work, peaks);
    time.seconds = getMedian(std::move(ofKernel));
    times.push_back(time);
  }
  for (auto [sum, call] : zip(sums, calls.times))
    sum = std::max(0.0, call - sum);
  otherSeconds = getMedian(std::move(sums));
}

double Profile::getTotal() const {
  double total = otherSeconds;
  for (const KernelTime &time : times)
    total += time.seconds;
  return total;
}

//===----------------------------------------------------------------------===//
// Totals
//===----------------------------------------------------------------------===//

/// Nodes of a training step are named after the forward node that they belong
/// to, plus a suffix (Autodiff.h).
static StringRef getPartOfStep(const KernelWork &kernel) {
  if (kernel.work.kind == WorkKind::Update)
    return "update";
  bool isBackward = any_of(kernel.nodes, [](StringRef node) {
    return node.contains("_grad/") || node.contains("_grad'");
  });
  bool isUpdate = any_of(
      kernel.nodes, [](StringRef node) { return node.contains("_update/"); });
  return isBackward ? "backward" : isUpdate ? "update" : "forward";
}

static StringRef getFirstNode(const KernelWork &kernel) {
  return kernel.nodes.empty() ? StringRef() : StringRef(kernel.nodes.front());
}

namespace {
using Sums = MapVector<StringRef, KernelTime>;
using Key = function_ref<StringRef(const KernelWork &)>;
} // namespace

/// Sorts by time, the longest first.
static std::vector<std::pair<StringRef, KernelTime>>
addUp(ArrayRef<KernelWork> kernels, ArrayRef<KernelTime> times, Key getKey) {
  Sums sums;
  for (auto [kernel, time] : zip(kernels, times))
    sums[getKey(kernel)].add(time);
  auto list = sums.takeVector();
  stable_sort(list, [](const auto &one, const auto &other) {
    return one.second.seconds > other.second.seconds;
  });
  return {list.begin(), list.end()};
}

static StringRef getWorkKind(const KernelWork &kernel) {
  return device::stringifyWorkKind(kernel.work.kind);
}

static std::vector<size_t> sortKernels(ArrayRef<KernelTime> times) {
  std::vector<size_t> order(times.size());
  for (size_t index = 0; index < order.size(); ++index)
    order[index] = index;
  stable_sort(order, [&](size_t one, size_t other) {
    return times[one].seconds > times[other].seconds;
  });
  return order;
}

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

static std::string formatFigure(double number) {
  std::string text;
  raw_string_ostream os(text);
  os << format("%.4g", number);
  return text;
}

static double divide(double a, double b) { return b > 0 ? a / b : 0; }

static void printColumns(raw_ostream &os, StringRef title) {
  os << "\n"
     << pad(title, 10) << padLeft("kernels", 8) << padLeft("us", 10)
     << padLeft("share", 8) << padLeft("GFLOP/s", 9) << padLeft("GB/s", 8)
     << padLeft("roofline", 10);
}

/// Prints a dash if the work is unknown.
static void printTime(raw_ostream &os, StringRef title, const KernelTime &time,
                      double total) {
  auto rate = [&](double count) {
    return time.bound > 0 ? formatFigure(divide(count, time.seconds) * 1e-9)
                          : "-";
  };
  os << pad(title, 10) << padLeft(std::to_string(time.kernels), 8)
     << padLeft(formatFigure(time.seconds * 1e6), 10)
     << padLeft(formatPercent(divide(time.seconds, total)), 8)
     << padLeft(rate(time.flops), 9) << padLeft(rate(time.bytes), 8)
     << padLeft(time.bound > 0 ? formatPercent(divide(time.bound, time.seconds))
                               : "-",
                10);
}

void Profile::print(raw_ostream &os) const {
  // Limit the table to the longest kernels.
  constexpr size_t maxKernels = 20;
  double total = getTotal();
  auto row = [&](StringRef title, const Twine &value) {
    os << pad(title, 26) << value << "\n";
  };
  row("median", formatFigure(calls.getPercentile(0.5) * 1e6) + " us of " +
                    Twine(calls.times.size()) + " calls, " +
                    Twine(getNumThreads()) + " threads");
  row("outside of kernels", formatFigure(otherSeconds * 1e6) + " us");
  row("roofline", formatFigure(peaks.floatRate * 1e-9) + " GFLOP/s in fp32, " +
                      formatFigure(peaks.narrowRate * 1e-9) +
                      " of 16-bit factors, " +
                      formatFigure(peaks.bandwidth * 1e-9) + " GB/s");
  printColumns(os, "kind");
  os << "\n";
  for (auto &[kind, sum] : addUp(kernels, times, getWorkKind)) {
    printTime(os, kind, sum, total);
    os << "\n";
  }
  printColumns(os, "phase");
  os << "\n";
  for (auto &[phase, sum] : addUp(kernels, times, getPartOfStep)) {
    printTime(os, phase, sum, total);
    os << "\n";
  }
  printColumns(os, "kernel");
  os << "  nodes\n";
  std::vector<size_t> order = sortKernels(times);
  for (size_t index : ArrayRef(order).take_front(maxKernels)) {
    const KernelWork &kernel = kernels[index];
    printTime(os, getWorkKind(kernel), times[index], total);
    os << (kernel.nodes.empty() ? "" : "  ")
       << escapeText(getFirstNode(kernel));
    if (kernel.nodes.size() > 1)
      os << " and " << kernel.nodes.size() - 1 << " more";
    os << "\n";
  }
  if (order.size() > maxKernels)
    os << "and " << order.size() - maxKernels << " more (--json has all)\n";
}

//===----------------------------------------------------------------------===//
// JSON
//===----------------------------------------------------------------------===//

static void addFields(json::OStream &json, const KernelTime &time) {
  json.attribute("seconds", time.seconds);
  // Writes null if the work is unknown.
  auto add = [&](StringRef name, double value) {
    json.attribute(name, time.bound > 0 ? toJSON(value) : nullptr);
  };
  add("flops", time.flops);
  add("bytes", time.bytes);
  add("bound_seconds", time.bound);
  add("roofline", divide(time.bound, time.seconds));
}

static void addStrings(json::OStream &json, StringRef name,
                       ArrayRef<std::string> strings) {
  json.attributeArray(name, [&] {
    for (const std::string &text : strings)
      json.value(json::fixUTF8(text));
  });
}

void Profile::printJSON(raw_ostream &os) const {
  json::OStream json(os, /*IndentSize=*/2);
  auto addSums = [&](StringRef name, Key getKey) {
    json.attributeArray(name, [&] {
      for (auto &[key, sum] : addUp(kernels, times, getKey))
        json.object([&, &key = key, &sum = sum] {
          json.attribute("name", json::fixUTF8(key));
          json.attribute("kernels", sum.kernels);
          addFields(json, sum);
        });
    });
  };
  json.object([&] {
    json.attribute("median", calls.getPercentile(0.5));
    json.attribute("calls", int64_t(calls.times.size()));
    json.attribute("threads", int64_t(getNumThreads()));
    json.attribute("other_seconds", otherSeconds);
    json.attributeObject("peaks", [&] {
      json.attribute("fp32_flops_per_second", peaks.floatRate);
      json.attribute("16bit_flops_per_second", peaks.narrowRate);
      json.attribute("fp64_flops_per_second", peaks.doubleRate);
      json.attribute("bytes_per_second", peaks.bandwidth);
    });
    addSums("kinds", getWorkKind);
    addSums("phases", getPartOfStep);
    addSums("nodes", getFirstNode);
    json.attributeArray("kernels", [&] {
      for (auto [kernel, time] : zip(kernels, times))
        json.object([&, &kernel = kernel, &time = time] {
          json.attribute("kind", getWorkKind(kernel));
          json.attribute("phase", getPartOfStep(kernel));
          addStrings(json, "nodes", kernel.nodes);
          json.attribute("read_bytes", kernel.work.readBytes);
          json.attribute("written_bytes", kernel.work.writtenBytes);
          addFields(json, time);
        });
    });
  });
  os << "\n";
}

void Profile::printTrace(raw_ostream &os) const {
  json::OStream json(os);
  json.object([&] {
    json.attribute("displayTimeUnit", "ns");
    json.attributeArray("traceEvents", [&] {
      for (size_t index = 0; index < kernels.size(); ++index)
        json.object([&] {
          const KernelWork &kernel = kernels[index];
          // Trace events use microseconds.
          auto getTime = [&](size_t number) {
            return 1e-3 * double(medianCall[number] - medianCall.front());
          };
          StringRef name = getFirstNode(kernel);
          json.attribute("name", name.empty() ? getWorkKind(kernel)
                                              : json::fixUTF8(name));
          json.attribute(
              "cat", (getWorkKind(kernel) + "," + getPartOfStep(kernel)).str());
          json.attribute("ph", "X");
          json.attribute("pid", 0);
          json.attribute("tid", 0);
          json.attribute("ts", getTime(index));
          json.attribute("dur", getTime(index + 1) - getTime(index));
          json.attributeObject("args", [&] {
            addStrings(json, "nodes", kernel.nodes);
            addFields(json, times[index]);
          });
        });
    });
  });
  os << "\n";
}

} // namespace mp
