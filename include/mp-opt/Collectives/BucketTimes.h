//===- BucketTimes.h - When gradients are ready to be sent ------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_COLLECTIVES_BUCKETTIMES_H
#define MPOPT_COLLECTIVES_BUCKETTIMES_H

#include "mp-opt/Runtime/Device.h"

#include <chrono>
#include <cstdint>
#include <map>
#include <vector>

namespace mp {

/// A collective operation in one step of one rank, without effect. Times are in
/// seconds from the begin of the step.
struct BucketTime {
  int32_t number = 0;
  /// The total size of its members.
  uint64_t bytes = 0;
  /// True if members are f32, which may be sent as bf16.
  bool isF32 = false;
  /// The times at which the last member was ready, and at which the step first
  /// needed the result.
  double ready = 0, needed = 0;
};

/// Replaces other ranks during its lifetime: models call its collectives.
class BucketRecorder {
public:
  /// The driver of a model on a device; null on the processor.
  explicit BucketRecorder(const mp_driver *driver = nullptr);
  ~BucketRecorder();

  /// Starts the time of a step.
  void begin();
  /// Buckets since `begin`, in the order in which they were ready.
  const std::vector<BucketTime> &getBuckets() const { return buckets; }

private:
  using Clock = std::chrono::steady_clock;
  struct Pending {
    BucketTime time;
    int32_t count = 0;
    /// Its last operation, until its result is needed; -1 for none.
    int64_t made = -1;
  };

  double now() const {
    return std::chrono::duration<double>(Clock::now() - start).count();
  }
  void add(int32_t number, int32_t members, int32_t type, int64_t count);
  void need(int32_t number);
  /// Serves models on a device by copying.
  void serveDevice();

  const mp_driver *driver;
  Clock::time_point start;
  std::vector<BucketTime> buckets;
  std::map<int32_t, Pending> pending;
  mp_collectives collectives = {};
  mp_device_ranks deviceRanks = {};
};

} // namespace mp

#endif // MPOPT_COLLECTIVES_BUCKETTIMES_H
