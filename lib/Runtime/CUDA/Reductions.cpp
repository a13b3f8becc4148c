//===- Reductions.cpp - What ranks make of a device's memory --------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Memory goes through the host: it is copied there where a bucket is full,
// reduced beside what the device computes next, and copied back where it is
// needed. So the sums are those of ranks on processors, in the order of ranks.
//
//===----------------------------------------------------------------------===//

#include "../CPU/Internal.h"
#include "../CPU/LastError.h"
#include "Session.h"

using namespace mp::runtime;

/// Pages that the driver knows are copied to and from at full speed.
int32_t mp_session::takeReducedMemory() {
  constexpr uint64_t alignment = 64;
  auto roundUp = [](uint64_t size) {
    return (size + alignment - 1) / alignment * alignment;
  };
  uint64_t count = plan.head->reductions.count, total = count;
  total = roundUp(total);
  const mp_plan_place *places = plan.getPlaces();
  for (uint64_t index = 0; index < count; ++index)
    total += roundUp(places[plan.getReductions()[index].memory].bytes);
  if (!reduced.resize(count))
    return refuseWith(MP_OUT_OF_MEMORY, "out of memory");
  if (int32_t error = driver.cuMemAllocHost_v2(&reducedMemory, total)) {
    reducedMemory = nullptr;
    return device.fail(error, "cuMemAllocHost",
                       "memory of the host for what ranks reduce");
  }
  auto *conditions = static_cast<uint8_t *>(reducedMemory);
  uint8_t *next = conditions + roundUp(count);
  for (uint64_t index = 0; index < count; ++index) {
    reduced[index].isActive = conditions + index;
    reduced[index].data = next;
    next += roundUp(places[plan.getReductions()[index].memory].bytes);
  }
  return MP_OK;
}

/// Copies what starts, or what that depends on, to the host.
int32_t mp_session::fetchReduced(const Piece &piece, bool conditions) {
  bool isCopied = false;
  for (uint64_t index = piece.firstReduction; index < piece.end; ++index) {
    const mp_plan_record &record = plan.getRecords()[index];
    if (record.kind != MP_RECORD_REDUCE_START)
      break;
    const mp_plan_reduction &reduction = plan.getReductions()[record.kernel];
    HostMemory &host = reduced[record.kernel];
    if (conditions && reduction.condition == -1) {
      *host.isActive = 1;
      continue;
    }
    if (!conditions && !*host.isActive)
      continue;
    const mp_plan_place &from =
        plan.getPlaces()[conditions ? static_cast<uint64_t>(reduction.condition)
                                    : reduction.memory];
    if (!from.bytes)
      continue;
    void *to = conditions ? host.isActive : host.data;
    if (int32_t error = driver.cuMemcpyDtoHAsync_v2(to, getAddress(from),
                                                    from.bytes, stream))
      return device.fail(error, "cuMemcpyDtoHAsync",
                         "copying what ranks reduce");
    isCopied = true;
  }
  if (!isCopied)
    return MP_OK;
  if (int32_t error = driver.cuStreamSynchronize(stream))
    return device.fail(error, "cuStreamSynchronize", "running the model");
  return MP_OK;
}

/// What has been fetched is handed over; what is waited for goes back.
int32_t mp_session::reduceOnHost(const mp_collectives &ranks,
                                 const Piece &piece) {
  for (uint64_t index = piece.firstReduction; index < piece.end; ++index) {
    const mp_plan_record &record = plan.getRecords()[index];
    const mp_plan_reduction &reduction = plan.getReductions()[record.kernel];
    HostMemory &host = reduced[record.kernel];
    if (!*host.isActive)
      continue;
    const mp_plan_place &place = plan.getPlaces()[reduction.memory];
    bool isStart = record.kind == MP_RECORD_REDUCE_START;
    mp_member member = {};
    member.operation = reduction.operation;
    member.type = reduction.type;
    member.data = host.data;
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
            getAddress(place), host.data, place.bytes, stream))
      return device.fail(error, "cuMemcpyHtoDAsync",
                         "copying what ranks have reduced");
  }
  return MP_OK;
}

int32_t mp_session::reduce(const Piece &piece) {
  const mp_collectives *ranks = getCollectives();
  if (!ranks || piece.firstReduction == piece.end)
    return MP_OK;
  if (!reducedMemory)
    if (int32_t code = takeReducedMemory())
      return code;
  if (int32_t code = fetchReduced(piece, /*conditions=*/true))
    return code;
  if (int32_t code = fetchReduced(piece, /*conditions=*/false))
    return code;
  return reduceOnHost(*ranks, piece);
}
