//===- DeviceTime.cpp - Predicted time of a plan --------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Execution/DeviceTime.h"

#include "mp-opt/Codegen/Target/GPULimits.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <cmath>
#include <numeric>

using namespace llvm;

namespace mp {

//===----------------------------------------------------------------------===//
// Constants
//===----------------------------------------------------------------------===//

static constexpr DeviceConstants measuredDevices[] = {
#define MP_DEVICE(NAME, ERROR, LEFT_OUT)                                       \
  {                                                                            \
    #NAME, ERROR, LEFT_OUT,
#define MP_DEVICE_CONSTANT(NAME, VALUE) VALUE,
#define MP_DEVICE_END                                                          \
  }                                                                            \
  ,
#include "mp-opt/Execution/DeviceTimes.def"
};

const DeviceConstants &getDeviceConstants(const DeviceModel &device) {
  for (const DeviceConstants &constants : measuredDevices)
    if (constants.device == device.name)
      return constants;
  for (const DeviceConstants &constants : measuredDevices)
    if (findDeviceModel(constants.device)->chip == device.chip)
      return constants;
  return measuredDevices[0];
}

//===----------------------------------------------------------------------===//
// Terms
//===----------------------------------------------------------------------===//

namespace {
/// The schedulers of a multiprocessor, its units for special functions and
/// registers, and the bytes that a warp accesses in a clock.
constexpr double numSchedulers = 4, specialPerClock = 16, warpBytes = 128;
constexpr unsigned numRegisters = 65536, registerUnit = 8, minRegisters = 16;

/// The time of one launch.
class LaunchModel {
public:
  LaunchModel(const DevicePlan::Record &record, const KernelCounts &counts,
              const DeviceModel &device, const DeviceConstants &constants);

  LaunchTime predict() const;

private:
  using Term = std::pair<StringLiteral, double>;
  void setOccupancy();
  double countInstructions() const;
  std::array<Term, 8> getTerms() const;

  const DevicePlan::Record &record;
  const KernelCounts &counts;
  const DeviceModel &device;
  const DeviceConstants &fitted;
  double blocks, threads, warps, clock;
  /// Blocks of the busiest multiprocessor, and how often they fill it.
  double perProcessor, waves = 1;
  unsigned resident = 1;
};
} // namespace

static double countBytes(const DevicePlan::Record &record) {
  double bytes = 0;
  for (const DevicePlan::Work &work : record.work)
    bytes += double(work.readBytes + work.writtenBytes);
  return bytes;
}

static double countProduct(const std::array<unsigned, 3> &sizes) {
  return double(sizes[0]) * double(sizes[1]) * double(sizes[2]);
}

LaunchModel::LaunchModel(const DevicePlan::Record &record,
                         const KernelCounts &counts, const DeviceModel &device,
                         const DeviceConstants &constants)
    : record(record), counts(counts), device(device), fitted(constants),
      blocks(countProduct(record.grid)), threads(countProduct(record.block)),
      warps(threads / device::warpSize),
      clock(device.clock * constants.clockShare),
      perProcessor(std::ceil(blocks / device.numProcessors)) {
  setOccupancy();
}

void LaunchModel::setOccupancy() {
  unsigned registers =
      unsigned(alignTo(std::max(counts.registers, minRegisters), registerUnit));
  unsigned shared = std::max(record.shared + counts.staticShared, 1u);
  unsigned perBlock = std::max(unsigned(threads), 1u);
  resident = std::min({numRegisters / (registers * perBlock),
                       device.maxThreads / perBlock, device.maxBlocks,
                       device.sharedBytes / shared});
  resident = std::max(resident, 1u);
  waves = std::ceil(perProcessor / resident);
}

static double getRate(double bytes, double busy, const DeviceModel &device,
                      const DeviceConstants &fitted) {
  double clock = device.clock * fitted.clockShare;
  double cache = busy * fitted.cacheBytes * clock;
  bool fitsCache = bytes < fitted.cacheShare * double(device.cacheBytes);
  return fitsCache ? cache
                   : std::min(cache, fitted.memoryShare * device.bandwidth);
}

/// The bytes that accesses of each width move, and the clocks that they take.
static std::pair<double, double> countAccesses(const KernelCounts &counts,
                                               double narrowCost) {
  double bytes = 0, clocks = 0;
  for (unsigned width = 0; width < KernelCounts::numWidths; ++width) {
    double number =
        counts.loads[width] + counts.stores[width] + counts.copies[width];
    double size = 1u << width;
    bytes += number * size;
    double cost = size < 4 ? narrowCost : 1;
    clocks += number * std::max(cost, size * device::warpSize / warpBytes);
  }
  return {bytes, clocks + counts.shared};
}

/// The share of `share` that a number of warps of each scheduler reaches.
static double reachShare(double share, double active, double needed,
                         double exponent) {
  return share * std::min(1.0, std::pow(active / needed, exponent));
}

double LaunchModel::countInstructions() const {
  double sum = counts.floats + counts.special + counts.shared / 2 +
               fitted.otherShare * counts.other + counts.tensor / 64;
  for (const auto *accesses : {&counts.loads, &counts.stores, &counts.copies})
    sum = std::accumulate(accesses->begin(), accesses->end(), sum);
  return sum;
}

std::array<LaunchModel::Term, 8> LaunchModel::getTerms() const {
  double bytes = countBytes(record);
  auto [accessed, clocks] = countAccesses(counts, fitted.narrowCost);
  double instructions = countInstructions();
  double active =
      std::min(perProcessor, double(resident)) * warps / numSchedulers;
  double issueRate =
      reachShare(numSchedulers * clock * fitted.issueShare, active,
                 fitted.issueWarps, fitted.issueExponent);
  double tensorRate =
      reachShare(device.tensorRate / device.numProcessors * fitted.tensorShare,
                 active, fitted.tensorWarps, fitted.tensorExponent);
  double doubleRate = device.doubleRate / device.numProcessors;
  double busy = std::min(blocks, double(device.numProcessors));
  double numThreads = perProcessor * threads, numWarps = perProcessor * warps;
  bool isArithmetic = counts.floats > 0.5 * instructions;
  return {Term{"memory", bytes / getRate(bytes, busy, device, fitted)},
          {"cache", numThreads * accessed / (fitted.accessBytes * clock)},
          {"access", numWarps * clocks / (fitted.accessShare * clock)},
          {"tensor", numThreads * 2 * counts.tensor / tensorRate},
          {isArithmetic ? StringLiteral("fma") : StringLiteral("issue"),
           numWarps * instructions / issueRate},
          {"fma", numThreads * 2 * counts.doubles / doubleRate},
          {"special", numThreads * counts.special / (specialPerClock * clock)},
          {"latency", waves * (fitted.barrierSeconds * counts.barriers +
                               fitted.waitSeconds * counts.waits)}};
}

LaunchTime LaunchModel::predict() const {
  LaunchTime time;
  double power = 0, longest = fitted.launchSeconds;
  for (auto [name, seconds] : getTerms()) {
    power += std::pow(seconds, fitted.exponent);
    if (seconds > longest) {
      longest = seconds;
      time.bound = name;
    }
  }
  time.seconds = fitted.launchSeconds + std::pow(power, 1 / fitted.exponent);
  time.resident = resident;
  time.waves = unsigned(waves);
  return time;
}

//===----------------------------------------------------------------------===//
// Plans
//===----------------------------------------------------------------------===//

double PlanTime::getStepSeconds() const {
  double sum = takeSeconds;
  for (const LaunchTime &record : records)
    sum += record.seconds;
  return sum;
}

double PlanTime::getAddedSeconds() const {
  return std::max(0.0, nextSeconds - getStepSeconds());
}

double PlanTime::getSeconds() const {
  return callSeconds + batchSeconds + getStepSeconds() + getAddedSeconds();
}

/// A copy or fill, which runs at full rate. Bytes that are read and written
/// count as two.
static LaunchTime predictCopy(double bytes, const DeviceModel &device,
                              const DeviceConstants &fitted) {
  LaunchTime time;
  double seconds = bytes / getRate(bytes, device.numProcessors, device, fitted);
  if (seconds > fitted.launchSeconds)
    time.bound = "memory";
  time.seconds = fitted.launchSeconds + seconds;
  return time;
}

/// Copies of the batch. Pinned memory is copied at a share of the link's rate.
static void setBatchTimes(PlanTime &time, const DevicePlan &plan,
                          const DeviceModel &device,
                          const DeviceConstants &fitted) {
  constexpr double linkShare = 0.8;
  double batch = 0;
  for (const DevicePlan::Buffer &input : plan.inputs)
    batch += double(input.bytes);
  for (const DevicePlan::Buffer &output : plan.outputs)
    if (output.state >= 0)
      batch -= double(output.bytes);
  for (uint64_t bytes : plan.getNextInputs()) {
    time.nextBytes += bytes;
    time.takeSeconds += predictCopy(2 * double(bytes), device, fitted).seconds;
  }
  double next = double(time.nextBytes);
  time.callSeconds = fitted.callSeconds;
  time.batchSeconds = (batch - next) / fitted.hostRate;
  time.nextSeconds = next / fitted.hostRate;
  time.linkSeconds = next / (linkShare * device.linkRate);
}

std::optional<PlanTime> predictTime(const DevicePlan &plan,
                                    const DeviceModel &device) {
  const DeviceConstants &fitted = getDeviceConstants(device);
  PlanTime time;
  setBatchTimes(time, plan, device, fitted);
  for (const DevicePlan::Record &record : plan.records) {
    LaunchTime &one = time.records.emplace_back();
    if (record.whenSet)
      continue;
    if (record.kind != DevicePlan::RecordKind::Launch) {
      one = predictCopy(countBytes(record), device, fitted);
      continue;
    }
    const std::optional<KernelCounts> &counts =
        plan.kernels[record.kernel].counts;
    if (!counts)
      return std::nullopt;
    time.hasEstimates |= counts->isEstimated;
    one = LaunchModel(record, *counts, device, fitted).predict();
  }
  return time;
}

} // namespace mp
