//===- Reductions.cpp - Reductions of a device's memory over ranks --------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Devices that reach each other reduce on their own (DeviceReductions.h).
// Otherwise memory goes through the host: it is copied there when a bucket is
// full, reduced while the device continues to compute, and copied back where it
// is needed. In both cases the sums equal those of ranks on processors, in the
// order of ranks.
//
//===----------------------------------------------------------------------===//

#include "../CPU/Internal.h"
#include "../CPU/LastError.h"
#include "Session.h"

using namespace mp::runtime;

/// Allocates memory through the driver, since pinned pages are copied at full
/// speed.
int32_t mp_session::takeHostMemory(void *&memory, uint64_t size) {
  int32_t error = driver.cuMemAllocHost_v2(&memory, size);
  if (!error)
    return MP_OK;
  memory = nullptr;
  return device.fail(error, "cuMemAllocHost",
                     "memory of the host for what ranks reduce");
}

int32_t mp_session::takeReducedMemory() {
  constexpr uint64_t alignment = 64;
  uint64_t count = plan.head->reductions.count, total = 0;
  auto getRoom = [&](uint64_t index) {
    uint64_t size = plan.getPlaces()[plan.getReductions()[index].memory].bytes;
    return (size + alignment - 1) / alignment * alignment;
  };
  for (uint64_t index = 0; index < count; ++index)
    total += getRoom(index);
  if (!reduced.resize(count))
    return refuseWith(MP_OUT_OF_MEMORY, "out of memory");
  if (int32_t code = takeHostMemory(reducedMemory, total ? total : 1))
    return code;
  auto *next = static_cast<uint8_t *>(reducedMemory);
  for (uint64_t index = 0; index < count; ++index) {
    reduced[index] = next;
    next += getRoom(index);
  }
  return MP_OK;
}

/// Copies the memory that `choose` returns for each start, if any, to the host.
/// Waits if something is copied.
template <typename Function>
int32_t mp_session::fetch(const Piece &piece, Function choose) {
  bool isCopied = false;
  for (uint64_t index = piece.firstReduction; index < piece.end; ++index) {
    const mp_plan_record &record = plan.getRecords()[index];
    if (record.kind != MP_RECORD_REDUCE_START)
      break;
    void *to = nullptr;
    const mp_plan_place *from = choose(record.kernel, to);
    if (!from || !from->bytes)
      continue;
    if (int32_t error = driver.cuMemcpyDtoHAsync_v2(to, getAddress(*from),
                                                    from->bytes, stream))
      return device.fail(error, "cuMemcpyDtoHAsync",
                         "copying what ranks reduce");
    isCopied = true;
  }
  return isCopied ? synchronize("running the model") : MP_OK;
}

/// Does not wait if there are no conditions.
int32_t mp_session::fetchConditions(const Piece &piece) {
  return fetch(piece, [&](uint32_t number, void *&to) {
    auto *condition = static_cast<uint8_t *>(conditions) + number;
    int64_t place = plan.getReductions()[number].condition;
    to = condition;
    *condition = 1;
    return place == -1 ? nullptr : plan.getPlaces() + place;
  });
}

int32_t mp_session::fetchReduced(const Piece &piece) {
  return fetch(piece, [&](uint32_t number, void *&to) {
    to = reduced[number];
    return isActive(number)
               ? plan.getPlaces() + plan.getReductions()[number].memory
               : nullptr;
  });
}

/// Hands fetched memory over to the ranks, and copies awaited results back.
int32_t mp_session::reduceOnHost(const mp_collectives &ranks,
                                 const Piece &piece) {
  for (uint64_t index = piece.firstReduction; index < piece.end; ++index) {
    const mp_plan_record &record = plan.getRecords()[index];
    const mp_plan_reduction &reduction = plan.getReductions()[record.kernel];
    if (!isActive(record.kernel))
      continue;
    const mp_plan_place &place = plan.getPlaces()[reduction.memory];
    bool isStart = record.kind == MP_RECORD_REDUCE_START;
    mp_member member = {};
    member.operation = reduction.operation;
    member.type = reduction.type;
    member.data = reduced[record.kernel];
    member.count =
        static_cast<int64_t>(place.bytes / getElementBytes(reduction.type));
    int32_t code = isStart ? ranks.start(ranks.context, reduction.bucket,
                                         reduction.members, &member)
                           : ranks.wait(ranks.context, reduction.bucket);
    if (code)
      return refuseWith(MP_RANKS_FAILED, "%s", ranks.error(ranks.context));
    if (isStart || !place.bytes)
      continue;
    if (int32_t error = driver.cuMemcpyHtoDAsync_v2(
            getAddress(place), reduced[record.kernel], place.bytes, stream))
      return device.fail(error, "cuMemcpyHtoDAsync",
                         "copying what ranks have reduced");
  }
  return MP_OK;
}

int32_t mp_session::reduce(const Piece &piece) {
  const mp_collectives *ranks = getCollectives();
  if ((!ranks && !onDevices.isInUse()) || piece.firstReduction == piece.end)
    return MP_OK;
  if (!conditions)
    if (int32_t code = takeHostMemory(conditions, plan.head->reductions.count))
      return code;
  if (int32_t code = fetchConditions(piece))
    return code;
  if (onDevices.isInUse()) {
    for (uint64_t index = piece.firstReduction; index < piece.end; ++index)
      if (int32_t code =
              onDevices.run(index, static_cast<const uint8_t *>(conditions)))
        return code;
    return MP_OK;
  }
  if (!reducedMemory)
    if (int32_t code = takeReducedMemory())
      return code;
  if (int32_t code = fetchReduced(piece))
    return code;
  return reduceOnHost(*ranks, piece);
}
