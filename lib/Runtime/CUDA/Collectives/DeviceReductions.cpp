//===- DeviceReductions.cpp - Reductions over ranks on devices ------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DeviceReductions.h"

#include "../../CPU/LastError.h"

#include <ctime>
#include <sched.h>

using namespace mp::runtime;

namespace {
const mp_device_ranks *deviceRanks = nullptr;

/// The maximum number of blocks per row, which leaves resources for the model's
/// kernels.
constexpr uint64_t maxBlocks = 128;
/// The maximum number of rows of a launch.
constexpr uint64_t maxRows = 65535;
} // namespace

const mp_device_ranks *mp::runtime::getDeviceRanks() { return deviceRanks; }

void mp_set_device_ranks(const mp_device_ranks *ranks) { deviceRanks = ranks; }

int32_t DeviceReductions::check(int32_t error, const char *function) {
  if (!error)
    return MP_OK;
  return loaded.device.fail(error, function, "reducing over ranks");
}

int32_t DeviceReductions::checkRanks(int32_t code) {
  if (!code)
    return MP_OK;
  return refuseWith(MP_RANKS_FAILED, "%s", ranks->error(ranks->context));
}

int32_t DeviceReductions::launch(const RankLaunch &launch) {
  constexpr uint64_t threads = MP_RANK_THREADS;
  uint64_t blocks = (launch.longest + threads - 1) / threads;
  if (blocks > maxBlocks)
    blocks = maxBlocks;
  for (uint64_t row = 0; row < launch.rows; row += maxRows) {
    uint64_t rows = launch.rows - row < maxRows ? launch.rows - row : maxRows;
    mp_device_address table =
        tables + launch.offset + row * sizeof(mp_rank_piece);
    void *parameters[] = {&table};
    if (int32_t code =
            check(loaded.driver.cuLaunchKernel(
                      launch.function, static_cast<uint32_t>(blocks),
                      static_cast<uint32_t>(rows), 1, MP_RANK_THREADS, 1, 1, 0,
                      stream, parameters, nullptr),
                  "cuLaunchKernel"))
      return code;
  }
  return MP_OK;
}

int32_t DeviceReductions::runCollective(const FusedCollective &fused) {
  uint64_t bytes = fused.shardSize * getBytes(fused.wireType);
  if (!bytes)
    return MP_OK;
  if (int32_t code = launch(fused.pack))
    return code;
  if (!isGather(fused.operation)) {
    if (int32_t code = checkRanks(
            ranks->exchange(ranks->context, packed, received, bytes, stream)))
      return code;
    if (int32_t code = launch(fused.add))
      return code;
  }
  if (fused.operation != MP_SCATTER)
    if (int32_t code = checkRanks(ranks->gather(
            ranks->context, packed + static_cast<uint64_t>(ranks->rank) * bytes,
            packed, bytes, stream)))
      return code;
  return launch(fused.unpack);
}

int32_t DeviceReductions::start(uint32_t number) {
  const mp_driver &driver = loaded.driver;
  FusedCollective &fused = collectives[number];
  fused.isWaitedFor = false;
  int32_t error = driver.cuEventRecord(fused.ready, loaded.stream);
  error = error ? error : driver.cuStreamWaitEvent(stream, fused.ready, 0);
  error = error ? error : driver.cuEventRecord(fused.begun, stream);
  if (int32_t code = check(error, "cuEventRecord or cuStreamWaitEvent"))
    return code;
  if (int32_t code = runCollective(fused))
    return code;
  started[numStarted++] = number;
  return check(driver.cuEventRecord(fused.done, stream), "cuEventRecord");
}

int32_t DeviceReductions::waitFor(uint32_t number) {
  const mp_driver &driver = loaded.driver;
  FusedCollective &fused = collectives[number];
  fused.isWaitedFor = true;
  int32_t error = driver.cuEventRecord(fused.needed, loaded.stream);
  error =
      error ? error : driver.cuStreamWaitEvent(loaded.stream, fused.done, 0);
  error = error ? error : driver.cuEventRecord(fused.resumed, loaded.stream);
  return check(error, "cuEventRecord or cuStreamWaitEvent");
}

int32_t DeviceReductions::begin() {
  // If several calls are queued, times are those of the last one.
  numStarted = numDone = 0;
  return check(loaded.driver.cuEventRecord(beginning, loaded.stream),
               "cuEventRecord");
}

double DeviceReductions::getSeconds(void *event) {
  float milliseconds = 0;
  // A failure to measure times is ignored.
  if (loaded.driver.cuEventElapsedTime(&milliseconds, beginning, event))
    return 0;
  return double(milliseconds) / 1000;
}

void DeviceReductions::tellTimes() {
  uint64_t numTimes = 0;
  for (uint64_t index = 0; index < numStarted; ++index) {
    const FusedCollective &fused = collectives[started[index]];
    if (loaded.driver.cuEventQuery(fused.done))
      continue;
    const mp_plan_reduction &reduction = getReduction(fused);
    mp_reduction_time &time = times[numTimes++] = {};
    time.bucket = reduction.bucket;
    time.type = reduction.type;
    time.bytes = loaded.plan.getBytes(reduction);
    time.ready = getSeconds(fused.ready);
    time.begun = getSeconds(fused.begun);
    time.done = getSeconds(fused.done);
    if (!fused.isWaitedFor)
      continue;
    time.needed = getSeconds(fused.needed);
    time.resumed = getSeconds(fused.resumed);
  }
  if (numTimes)
    ranks->measured(ranks->context, times.get(), numTimes);
  numStarted = numDone = 0;
}

int32_t DeviceReductions::findAwaited() {
  auto isDone = [&](void *event) {
    return loaded.driver.cuEventQuery(event) == 0;
  };
  while (numDone < numStarted && isDone(collectives[started[numDone]].done))
    ++numDone;
  if (numDone == numStarted || !isDone(collectives[started[numDone]].ready))
    return -1;
  return loaded.plan.getReductions()[started[numDone]].bucket;
}

int32_t DeviceReductions::wait() {
  constexpr unsigned busyPolls = 1000;
  constexpr timespec nap = {0, 20'000};
  for (unsigned polls = 0;; ++polls) {
    int32_t error = loaded.driver.cuStreamQuery(loaded.stream);
    bool isDone = error != MP_CUDA_NOT_READY;
    int32_t bucket = isDone ? -1 : findAwaited();
    if (int32_t code = checkRanks(ranks->watch(ranks->context, bucket)))
      return code;
    if (isDone)
      return check(error, "cuStreamQuery");
    if (polls < busyPolls)
      sched_yield();
    else
      nanosleep(&nap, nullptr);
  }
}
