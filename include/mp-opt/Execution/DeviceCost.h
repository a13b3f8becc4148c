//===- DeviceCost.h - Lower bound of the cost of a plan ---------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// A lower bound, not a forecast: each launch takes the time in which the device
// can at best move the bytes or do the operations, whichever is longer, plus
// the launch overhead. Kernels that reach it have perfect caches, full
// bandwidth and peak arithmetic.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_EXECUTION_DEVICECOST_H
#define MPOPT_EXECUTION_DEVICECOST_H

#include "mp-opt/Codegen/Target/DeviceModels.h"
#include "mp-opt/Execution/DevicePlan.h"

#include <map>

namespace mp {

/// The cost of one or more records.
struct DeviceCost {
  uint64_t launches = 0, copies = 0;
  uint64_t readBytes = 0, writtenBytes = 0;
  /// Multiply-adds of 16-bit factors on tensor cores, and all other
  /// multiply-adds. A multiply-add in tf32 counts as two, since it takes twice
  /// the time on all devices.
  uint64_t tensor = 0, fma = 0;
  /// Other operations on floats; and all operations on f64, with multiply-adds
  /// counted as two.
  uint64_t operations = 0, doubles = 0;
  /// The lower bound of the time, without gaps between kernels.
  double seconds = 0;
  /// The part of `seconds` in records that are bound by memory.
  double memorySeconds = 0;

  /// Adds counts and times.
  void add(const DeviceCost &other);
};

struct PlanCost {
  /// One entry per record, in the plan's order.
  std::vector<DeviceCost> records;
  DeviceCost total;
  /// The time of a launch of several kinds counts for the kind that takes
  /// longest; bytes and operations count for their own kinds.
  std::map<device::WorkKind, DeviceCost> kinds;
  /// Sizes of the arena, constants, inputs (including states), and outputs that
  /// are not written over states.
  uint64_t arenaBytes = 0, constantBytes = 0, inputBytes = 0, outputBytes = 0;
  /// The part of `inputBytes` that outputs are written over.
  uint64_t stateBytes = 0;
  /// Buffers of the device for inputs that are copied during the call before.
  uint64_t nextBytes = 0;

  uint64_t getMemoryBytes() const {
    return arenaBytes + constantBytes + inputBytes + outputBytes + nextBytes;
  }
  /// The time of a call, including launch overhead.
  double getSeconds() const {
    return graphSeconds + total.seconds +
           launchSeconds * double(total.launches + total.copies);
  }
};

PlanCost countCost(const DevicePlan &plan, const DeviceModel &device);

} // namespace mp

#endif // MPOPT_EXECUTION_DEVICECOST_H
