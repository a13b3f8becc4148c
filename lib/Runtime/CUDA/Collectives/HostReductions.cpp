//===- HostReductions.cpp - Reductions of a device's memory over ranks ----===//
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

#include "../../CPU/Internal.h"
#include "../../CPU/LastError.h"
#include "../Session.h"

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

/// The bytes of a buffer of the host: those of the next one are aligned.
static uint64_t getRoom(const mp_plan_place &place) {
  constexpr uint64_t alignment = 64;
  return (place.bytes + alignment - 1) / alignment * alignment;
}

int32_t mp_session::takeReducedMemory() {
  uint64_t count = plan.head->reductions.count, total = 0;
  if (!reduced.resize(count))
    return refuseWith(MP_OUT_OF_MEMORY, "out of memory");
  auto forBuffers = [&](auto visit) {
    for (uint64_t index = 0; index < count; ++index) {
      const mp_plan_reduction &reduction = plan.getReductions()[index];
      uint64_t room = 0;
      for (uint32_t member = 0; member < reduction.num_members; ++member)
        room += getRoom(plan.getMembers(reduction)[member]);
      visit(index, room);
    }
  };
  forBuffers([&](uint64_t, uint64_t room) { total += room; });
  if (int32_t code = takeHostMemory(reducedMemory, total ? total : 1))
    return code;
  auto *next = static_cast<uint8_t *>(reducedMemory);
  forBuffers([&](uint64_t index, uint64_t room) {
    reduced[index] = next;
    next += room;
  });
  return MP_OK;
}

int32_t mp_session::fetch(const mp_plan_place &from, void *to, bool &isCopied) {
  if (!from.bytes)
    return MP_OK;
  isCopied = true;
  if (int32_t error =
          driver.cuMemcpyDtoHAsync_v2(to, getAddress(from), from.bytes, stream))
    return device.fail(error, "cuMemcpyDtoHAsync", "copying what ranks reduce");
  return MP_OK;
}

/// Does not wait if there are no conditions.
int32_t mp_session::fetchConditions(const Piece &piece) {
  bool isCopied = false;
  for (uint64_t index = piece.firstReduction; index < piece.end; ++index) {
    const mp_plan_record &record = plan.getRecords()[index];
    if (record.kind != MP_RECORD_REDUCE_START)
      break;
    auto *condition = static_cast<uint8_t *>(conditions) + record.kernel;
    *condition = 1;
    int64_t place = plan.getReductions()[record.kernel].condition;
    if (place == -1)
      continue;
    if (int32_t code = fetch(plan.getPlaces()[place], condition, isCopied))
      return code;
  }
  return isCopied ? synchronize("running the model") : MP_OK;
}

int32_t mp_session::fetchReduced(const Piece &piece) {
  bool isCopied = false;
  for (uint64_t index = piece.firstReduction; index < piece.end; ++index) {
    const mp_plan_record &record = plan.getRecords()[index];
    if (record.kind != MP_RECORD_REDUCE_START)
      break;
    if (!isActive(record.kernel))
      continue;
    const mp_plan_reduction &reduction = plan.getReductions()[record.kernel];
    auto *to = static_cast<uint8_t *>(reduced[record.kernel]);
    for (uint32_t member = 0; member < reduction.num_members; ++member) {
      const mp_plan_place &from = plan.getMembers(reduction)[member];
      if (int32_t code = fetch(from, to, isCopied))
        return code;
      to += getRoom(from);
    }
  }
  return isCopied ? synchronize("running the model") : MP_OK;
}

/// Hands the fetched members of a reduction over to the ranks.
int32_t mp_session::startOnHost(const mp_collectives &ranks, uint32_t number) {
  const mp_plan_reduction &reduction = plan.getReductions()[number];
  auto *data = static_cast<uint8_t *>(reduced[number]);
  for (uint32_t index = 0; index < reduction.num_members; ++index) {
    const mp_plan_place &place = plan.getMembers(reduction)[index];
    mp_member member = {};
    member.operation = reduction.operation;
    member.type = reduction.type;
    member.data = data;
    member.count =
        static_cast<int64_t>(place.bytes / getElementBytes(reduction.type));
    if (ranks.start(ranks.context, reduction.bucket,
                    static_cast<int32_t>(reduction.num_members), &member))
      return refuseWith(MP_RANKS_FAILED, "%s", ranks.error(ranks.context));
    data += getRoom(place);
  }
  return MP_OK;
}

/// Waits for the ranks, and copies the results back.
int32_t mp_session::waitOnHost(const mp_collectives &ranks, uint32_t number) {
  const mp_plan_reduction &reduction = plan.getReductions()[number];
  if (ranks.wait(ranks.context, reduction.bucket))
    return refuseWith(MP_RANKS_FAILED, "%s", ranks.error(ranks.context));
  auto *data = static_cast<uint8_t *>(reduced[number]);
  for (uint32_t index = 0; index < reduction.num_members; ++index) {
    const mp_plan_place &place = plan.getMembers(reduction)[index];
    if (place.bytes)
      if (int32_t error = driver.cuMemcpyHtoDAsync_v2(getAddress(place), data,
                                                      place.bytes, stream))
        return device.fail(error, "cuMemcpyHtoDAsync",
                           "copying what ranks have reduced");
    data += getRoom(place);
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
  if (!onDevices.isInUse()) {
    if (!reducedMemory)
      if (int32_t code = takeReducedMemory())
        return code;
    if (int32_t code = fetchReduced(piece))
      return code;
  }
  for (uint64_t index = piece.firstReduction; index < piece.end; ++index) {
    uint32_t number = plan.getRecords()[index].kernel;
    bool isStart = plan.getRecords()[index].kind == MP_RECORD_REDUCE_START;
    if (!isActive(number))
      continue;
    int32_t code = MP_OK;
    if (onDevices.isInUse())
      code = isStart ? onDevices.start(number) : onDevices.waitFor(number);
    else
      code = isStart ? startOnHost(*ranks, number) : waitOnHost(*ranks, number);
    if (code)
      return code;
  }
  return MP_OK;
}
