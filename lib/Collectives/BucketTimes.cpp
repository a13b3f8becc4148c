//===- BucketTimes.cpp - When gradients are ready to be sent --------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Collectives/BucketTimes.h"

#include "llvm/ADT/ArrayRef.h"

#include <utility>

namespace mp {

BucketRecorder::BucketRecorder(const mp_driver *driver) : driver(driver) {
  if (driver) {
    serveDevice();
    return;
  }
  collectives.context = this;
  collectives.start = [](void *context, int32_t bucket, int32_t members,
                         const mp_member *member) {
    static_cast<BucketRecorder *>(context)->add(bucket, members, member->type,
                                                member->count);
    return int32_t(0);
  };
  collectives.wait = [](void *context, int32_t bucket) {
    static_cast<BucketRecorder *>(context)->need(bucket);
    return int32_t(0);
  };
  collectives.error = [](void *) { return ""; };
  mp_set_collectives(&collectives);
}

BucketRecorder::~BucketRecorder() {
  if (driver)
    mp_set_device_ranks(nullptr);
  else
    mp_set_collectives(nullptr);
}

void BucketRecorder::serveDevice() {
  deviceRanks.context = this;
  deviceRanks.size = 1;
  deviceRanks.exchange = [](void *context, mp_device_address shards,
                            mp_device_address from, uint64_t bytes,
                            void *stream) {
    const mp_driver &driver = *static_cast<BucketRecorder *>(context)->driver;
    return driver.cuMemcpyDtoDAsync_v2(from, shards, bytes, stream);
  };
  deviceRanks.gather = [](void *, mp_device_address, mp_device_address,
                          uint64_t, void *) { return int32_t(0); };
  deviceRanks.watch = [](void *, int32_t) { return int32_t(0); };
  deviceRanks.measured = [](void *context, const mp_reduction_time *times,
                            uint64_t count) {
    auto &buckets = static_cast<BucketRecorder *>(context)->buckets;
    buckets.clear();
    for (const mp_reduction_time &time : llvm::ArrayRef(times, count))
      buckets.push_back({time.bucket, time.bytes, time.type == MP_FLOAT,
                         time.ready, time.needed});
  };
  deviceRanks.error = [](void *) { return "copying on the device fails"; };
  mp_set_device_ranks(&deviceRanks);
}

void BucketRecorder::begin() {
  buckets.clear();
  pending.clear();
  start = Clock::now();
}

void BucketRecorder::add(int32_t number, int32_t members, int32_t type,
                         int64_t count) {
  Pending &open = pending[number];
  uint64_t width = type == MP_FLOAT ? 4 : type == MP_BOOL ? 1 : 8;
  open.time.bytes += uint64_t(count) * width;
  open.time.isF32 = type == MP_FLOAT;
  if (++open.count < members)
    return;
  open.count = 0;
  open.time.number = number;
  open.time.ready = now();
  open.made = int64_t(buckets.size());
  buckets.push_back(std::exchange(open.time, BucketTime()));
}

void BucketRecorder::need(int32_t number) {
  Pending &open = pending[number];
  if (open.made < 0)
    return;
  buckets[size_t(open.made)].needed = now();
  open.made = -1;
}

} // namespace mp
