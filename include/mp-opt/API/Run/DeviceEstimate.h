//===- DeviceEstimate.h - Estimated cost of a model on a device -*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_API_RUN_DEVICEESTIMATE_H
#define MPOPT_API_RUN_DEVICEESTIMATE_H

#include "mp-opt/Execution/DeviceCost.h"
#include "mp-opt/Execution/DeviceTime.h"

#include "llvm/Support/raw_ostream.h"

namespace mp {

/// The lower bound of the cost of a plan (Model::plan) on a device, which need
/// not be present; and the predicted time, if the plan's kernels are counted.
struct DeviceEstimate {
  DeviceEstimate(const DevicePlan &plan, const DeviceModel &device)
      : plan(plan), device(device), cost(countCost(plan, device)),
        time(predictTime(plan, device)) {}

  /// True if the plan can run. Buffers for next inputs need not fit.
  bool fits() const {
    return cost.getMemoryBytes() - cost.nextBytes <= device.memoryBytes;
  }
  bool fitsWithNextInputs() const {
    return cost.getMemoryBytes() <= device.memoryBytes;
  }

  /// Prints totals, a table by kinds of work, and one of the slowest kernels.
  void print(llvm::raw_ostream &os) const;
  /// Prints the same with every launch and copy, as an object.
  void printJSON(llvm::raw_ostream &os) const;

  const DevicePlan &plan;
  const DeviceModel &device;
  PlanCost cost;
  std::optional<PlanTime> time;
};

} // namespace mp

#endif // MPOPT_API_RUN_DEVICEESTIMATE_H
