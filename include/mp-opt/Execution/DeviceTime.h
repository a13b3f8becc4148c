//===- DeviceTime.h - Predicted time of a plan ------------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A prediction, next to the lower bound of DeviceCost.h. A call takes
//
//     call + batch / hostRate + max(next / hostRate, step)
//     step = sum over launches, and copies of next inputs, of (launch + time)
//     time = (memory^p + access^p + cache^p + tensor^p + issue^p + special^p
//             + latency^p)^(1/p)
//
// in seconds, where the terms of a launch follow from its counts
// (KernelCounts.h), from n = ceil(blocks / multiprocessors), the blocks that
// the busiest multiprocessor runs, and from those that are resident in it
// together, by registers, threads and shared memory:
//
//     memory   bytes that move (each address once) at a share of the data
//              sheet's bandwidth, or at the cache's if they fit a share of it
//     cache    bytes that threads access, per clock and multiprocessor
//     access   n times the clocks of a block's accesses: 128 bytes a clock for
//              a warp; elements of 1 and 2 bytes are gathered more slowly
//     tensor   n times a block's products at a share of the peak; fewer
//              resident warps reach less
//     issue    n times a block's instructions, 4 a clock; likewise
//     special  n times a block's special functions, 16 a clock
//     latency  waves = ceil(n / resident) times a block's barriers and awaited
//              groups of loads
//
// `next` are bytes of large inputs of a training step, which are copied during
// the step before: the host copies them to pinned memory, the link from there.
// Drivers do the same with pageable memory, so both together take as long as
// such a copy. `batch` are the other inputs that are not states.
//
// The constants are fitted to measured steps by
// benchmarks/fit_device_times.py, which writes DeviceTimes.def and computes the
// same formula.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_EXECUTION_DEVICETIME_H
#define MPOPT_EXECUTION_DEVICETIME_H

#include "mp-opt/Codegen/Target/DeviceModels.h"
#include "mp-opt/Execution/DevicePlan.h"

#include <optional>

namespace mp {

/// The fitted constants of one device. Others take them with the rates, clocks
/// and sizes of their own data sheets.
struct DeviceConstants {
  llvm::StringLiteral device;
  /// The root mean square of relative errors over measured steps (logarithms),
  /// and the largest of a step that the fit has not seen: 0.1 is 10 %.
  double error, leftOutError;
  /// Seconds of a call and of the gap before a launch; bytes per second of
  /// batches, which are copied from pageable memory.
  double callSeconds, launchSeconds, hostRate;
  /// The clock under load, as a share of the highest.
  double clockShare;
  /// The share of the data sheet's bandwidth. A launch whose bytes fit
  /// `cacheShare` of the L2 cache moves them at the cache's rate: bytes per
  /// clock and multiprocessor, which limit all launches.
  double memoryShare, cacheShare, cacheBytes;
  /// Bytes that threads access, per clock and multiprocessor.
  double accessBytes;
  /// The share of the clocks for accesses that a multiprocessor uses; the cost
  /// of a warp's access to elements of 1 or 2 bytes, relative to 4.
  double accessShare, narrowCost;
  /// The share of all other instructions that remains in machine code.
  double otherShare;
  /// The share of the peak that instructions reach if a scheduler has
  /// `issueWarps` warps, and the power that fewer reduce it by; the same for
  /// tensor cores.
  double issueShare, issueWarps, issueExponent;
  double tensorShare, tensorWarps, tensorExponent;
  /// Seconds of a barrier and of an awaited group of loads.
  double barrierSeconds, waitSeconds;
  /// How terms overlap: p of the formula.
  double exponent;
};

/// The constants for a device: those fitted to it, or to the nearest of its
/// generation.
const DeviceConstants &getDeviceConstants(const DeviceModel &device);

/// The prediction for one record.
struct LaunchTime {
  /// The whole time, the gap before the launch included.
  double seconds = 0;
  /// The longest term: "memory", "cache", "access", "tensor", "fma" (issue, if
  /// most instructions are sums and products), "issue", "special", "latency";
  /// "launch" if the gap before it is longer.
  llvm::StringLiteral bound = "launch";
  /// Blocks that a multiprocessor holds together, and how often it is filled.
  unsigned resident = 0, waves = 0;
};

struct PlanTime {
  /// One per record, in the plan's order; 0 for records that are not part of a
  /// call.
  std::vector<LaunchTime> records;
  /// The time for starting a call, and that for copying inputs in it: those
  /// that are not states, and not copied during the call before.
  double callSeconds = 0, batchSeconds = 0;
  /// Inputs that are copied during the call before: their bytes, the time of
  /// the copies by host and link, the part of it that the link takes, and the
  /// time in which a call copies them on the device.
  uint64_t nextBytes = 0;
  double nextSeconds = 0, linkSeconds = 0, takeSeconds = 0;
  /// True if registers are estimates for some kernels.
  bool hasEstimates = false;

  double getSeconds() const;
  /// The seconds by which copies of next inputs are longer than the call next
  /// to them.
  double getAddedSeconds() const;

private:
  /// The time of launches and of copies on the device.
  double getStepSeconds() const;
};

/// Predicts a plan whose kernels are counted (makeCountedPlan); absent for
/// others.
std::optional<PlanTime> predictTime(const DevicePlan &plan,
                                    const DeviceModel &device);

} // namespace mp

#endif // MPOPT_EXECUTION_DEVICETIME_H
