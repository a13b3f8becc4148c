//===- BucketTimes.h - When gradients are ready to travel -------*- C++ -*-===//
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

/// A collective operation of one step of one rank, which does nothing: times in
/// seconds since the step began.
struct BucketTime {
  int32_t number = 0;
  /// Of its members, in memory.
  uint64_t bytes = 0;
  /// Whether these are f32, which may travel in bf16.
  bool isF32 = false;
  /// When the last member was there, and when the step first needed the result.
  double ready = 0, needed = 0;
};

/// What models call while it lives, in the place of other ranks.
class BucketRecorder {
public:
  /// Of models on a device, by its driver; null for those on the processor.
  explicit BucketRecorder(const mp_driver *driver = nullptr);
  ~BucketRecorder();

  /// The step begins now.
  void begin();
  /// In the order in which they were ready, since then.
  const std::vector<BucketTime> &getBuckets() const { return buckets; }

private:
  using Clock = std::chrono::steady_clock;
  struct Pending {
    BucketTime time;
    int32_t count = 0, members = 0;
    /// Its last operation, until that is needed; -1 for none.
    int64_t made = -1;
  };

  double now() const {
    return std::chrono::duration<double>(Clock::now() - start).count();
  }
  void make(int32_t number, Pending &pending);
  void add(int32_t number, int32_t members, int32_t type, int64_t count);
  void need(int32_t number);
  /// Operations of one rank on a device, which copy.
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
