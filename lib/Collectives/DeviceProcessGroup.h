//===- DeviceProcessGroup.h - Devices that reach each other -----*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// NCCL transfers bytes between devices: shards of buckets, which sessions pack
// and add up themselves (Runtime/Device.h).
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_COLLECTIVES_DEVICEPROCESSGROUP_H
#define MPOPT_LIB_COLLECTIVES_DEVICEPROCESSGROUP_H

#include "Watchdog.h"

#include "mp-opt/Collectives/ProcessGroup.h"

#include <chrono>

namespace mp {

/// Launchers end all ranks within this time after one of them has ended.
constexpr std::chrono::seconds timeToEnd(3);

/// "2.27.5", of the number that NCCL has for it.
std::string printNCCLVersion(int32_t version);

class DeviceProcessGroup {
public:
  /// Called by all ranks with rank 0's identifier; returns when all have called
  /// it.
  static llvm::Expected<std::unique_ptr<DeviceProcessGroup>>
  create(const mp_nccl &nccl, const RankDevice &device, const mp_nccl_id &id,
         int rank, int size, const ProcessGroupOptions &options,
         std::string who);
  /// Waits for the others, unless they have been abandoned.
  ~DeviceProcessGroup();

  void abandon() { isAbandoned = true; }
  /// Makes sessions of this process use it from now on.
  void serveSessions();
  ProcessGroupFigures getFigures() const { return figures; }

private:
  DeviceProcessGroup(const mp_nccl &nccl, const RankDevice &device,
                     const ProcessGroupOptions &options, std::string who);

  int32_t allToAll(mp_device_address shards, mp_device_address from,
                   uint64_t bytes, void *stream);
  int32_t allGather(mp_device_address own, mp_device_address all,
                    uint64_t bytes, void *stream);
  int32_t watch(int32_t bucket);
  /// Aborts queued operations, in which other ranks may never take part.
  /// Returns 1.
  int32_t abort();
  /// Keeps the text of an error.
  int32_t check(int32_t error, const char *function);

  const mp_nccl &nccl;
  RankDevice device;
  Watchdog watchdog;
  /// The device's context, while this object retains it.
  void *context = nullptr;
  void *communicator = nullptr;
  mp_device_ranks functions = {};
  std::string text;
  ProcessGroupFigures figures;
  /// The bucket that this rank waits for; -1 for none.
  int32_t awaited = -1;
  /// The time at which another rank was found to have ended.
  std::chrono::steady_clock::time_point lost;
  bool isLost = false;
  bool isServing = false, isAbandoned = false;
};

} // namespace mp

#endif // MPOPT_LIB_COLLECTIVES_DEVICEPROCESSGROUP_H
