//===- DeviceCost.cpp - Lower bound of the cost of a plan -----------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Execution/DeviceCost.h"

using namespace mlir;

namespace mp {

void DeviceCost::add(const DeviceCost &other) {
  launches += other.launches;
  copies += other.copies;
  readBytes += other.readBytes;
  writtenBytes += other.writtenBytes;
  tensor += other.tensor;
  fma += other.fma;
  operations += other.operations;
  doubles += other.doubles;
  seconds += other.seconds;
  memorySeconds += other.memorySeconds;
}

static DeviceCost getCounts(const DevicePlan::Work &work) {
  DeviceCost cost;
  cost.readBytes = work.readBytes;
  cost.writtenBytes = work.writtenBytes;
  cost.tensor = work.tensor;
  cost.fma = work.fma;
  cost.operations = work.operations;
  cost.doubles = work.doubles;
  return cost;
}

/// Memory accesses and each kind of arithmetic overlap, so the longest of them
/// determines the time.
static void setTimes(DeviceCost &cost, const DeviceModel &device) {
  double memory = double(cost.readBytes + cost.writtenBytes) / device.bandwidth;
  double floats = 2 * double(cost.fma) + double(cost.operations);
  double arithmetic = std::max({2 * double(cost.tensor) / device.tensorRate,
                                floats / device.floatRate,
                                double(cost.doubles) / device.doubleRate});
  cost.seconds = std::max(memory, arithmetic);
  cost.memorySeconds = memory >= arithmetic ? memory : 0;
}

/// The cost of one record. Its time is divided among its kinds in proportion to
/// their times.
static DeviceCost countRecord(const DevicePlan::Record &record,
                              const DeviceModel &device, PlanCost &cost) {
  DeviceCost whole;
  std::vector<DeviceCost> parts;
  double sum = 0;
  size_t longest = 0;
  for (const DevicePlan::Work &work : record.work) {
    DeviceCost part = getCounts(work);
    whole.add(part);
    setTimes(part, device);
    sum += part.seconds;
    if (!parts.empty() && part.seconds > parts[longest].seconds)
      longest = parts.size();
    parts.push_back(part);
  }
  setTimes(whole, device);
  bool isLaunch = record.kind == DevicePlan::RecordKind::Launch;
  (isLaunch ? whole.launches : whole.copies) = 1;
  for (auto [index, part] : llvm::enumerate(parts)) {
    double share = sum > 0 ? part.seconds / sum : 0;
    part.seconds = share * whole.seconds;
    part.memorySeconds = share * whole.memorySeconds;
    if (index == longest)
      (isLaunch ? part.launches : part.copies) = 1;
    cost.kinds[record.work[index].kind].add(part);
  }
  return whole;
}

PlanCost countCost(const DevicePlan &plan, const DeviceModel &device) {
  PlanCost cost;
  for (const DevicePlan::Record &record : plan.records) {
    // Records that run when states are set are not part of a call.
    cost.records.push_back(record.whenSet ? DeviceCost()
                                          : countRecord(record, device, cost));
    cost.total.add(cost.records.back());
  }
  cost.arenaBytes = plan.arenaBytes;
  for (const DevicePlan::Buffer &constant : plan.constants)
    cost.constantBytes += constant.bytes;
  for (const DevicePlan::Buffer &input : plan.inputs)
    cost.inputBytes += input.bytes;
  for (const DevicePlan::Buffer &output : plan.outputs)
    (output.state < 0 ? cost.outputBytes : cost.stateBytes) += output.bytes;
  for (uint64_t bytes : plan.getNextInputs())
    cost.nextBytes += bytes;
  return cost;
}

} // namespace mp
