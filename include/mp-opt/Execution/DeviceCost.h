//===- DeviceCost.h - What a plan takes at least ----------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// A bound from below, and no forecast: each launch takes as long as the device
// needs at its best to move the bytes, or to do the operations, whichever is
// longer, and a moment to start. Kernels that reach it have perfect caches,
// full bandwidth and peak arithmetic.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_EXECUTION_DEVICECOST_H
#define MPOPT_EXECUTION_DEVICECOST_H

#include "mp-opt/Execution/DeviceModels.h"
#include "mp-opt/Execution/DevicePlan.h"

#include <map>

namespace mp {

/// Of one or more records.
struct DeviceCost {
  uint64_t launches = 0, copies = 0;
  uint64_t readBytes = 0, writtenBytes = 0;
  /// Multiply-adds of 16-bit factors by tensor cores, where one of tf32, which
  /// takes twice the time on all of them, counts as two; and those of others.
  uint64_t tensor = 0, fma = 0;
  /// Other operations on floats; all on f64, multiply-adds as two.
  uint64_t operations = 0, doubles = 0;
  /// At least, without those between kernels.
  double seconds = 0;
  /// Of these, of records whose bytes, rather than operations, say so.
  double memorySeconds = 0;

  /// Adds counts and times.
  void add(const DeviceCost &other);
};

struct PlanCost {
  /// Of each record, in the plan's order.
  std::vector<DeviceCost> records;
  DeviceCost total;
  /// A launch of several kinds counts for the one that takes longest; bytes and
  /// operations count for their own.
  std::map<device::WorkKind, DeviceCost> kinds;
  /// Of the arena, constants, inputs (states among them), and outputs that are
  /// not written over states.
  uint64_t arenaBytes = 0, constantBytes = 0, inputBytes = 0, outputBytes = 0;
  /// Of inputs, those that outputs are written over.
  uint64_t stateBytes = 0;

  uint64_t getMemoryBytes() const {
    return arenaBytes + constantBytes + inputBytes + outputBytes;
  }
  /// Of a call, with what launches take.
  double getSeconds() const {
    return graphSeconds + total.seconds +
           launchSeconds * double(total.launches + total.copies);
  }
};

PlanCost countCost(const DevicePlan &plan, const DeviceModel &device);

} // namespace mp

#endif // MPOPT_EXECUTION_DEVICECOST_H
