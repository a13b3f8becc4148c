//===- NextInputs.cpp - Inputs copied during the call before --------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NextInputs.h"

#include "../CPU/LastError.h"

#include <cstdio>
#include <cstring>

using namespace mp::runtime;

int32_t NextInputs::fail(int32_t error, const char *function, uint64_t input,
                         const char *what) {
  char text[300];
  const mp_plan_buffer &buffer = loaded.plan.getInputs()[input];
  std::snprintf(text, sizeof(text), "%s of %llu bytes for input '%.150s'", what,
                static_cast<unsigned long long>(buffer.bytes),
                loaded.plan.getText(buffer.name));
  return loaded.device.fail(error, function, text);
}

//===----------------------------------------------------------------------===//
// Creation and destruction
//===----------------------------------------------------------------------===//

int32_t NextInputs::allocate(uint64_t input) {
  const mp_driver &driver = loaded.driver;
  NextInput &next = nextInputs[input];
  uint64_t bytes = loaded.plan.getInputs()[input].bytes;
  if (int32_t error = driver.cuMemAlloc_v2(&next.buffer, bytes)) {
    next.buffer = 0;
    return fail(error, "cuMemAlloc", input, "a buffer of the device");
  }
  loaded.bytes += bytes;
  void **events[] = {&next.taken, &next.slots[0].copied, &next.slots[1].copied};
  for (void **event : events)
    if (int32_t error =
            driver.cuEventCreate(event, MP_CUDA_EVENT_DISABLE_TIMING)) {
      *event = nullptr;
      return fail(error, "cuEventCreate", input, "an event for copies");
    }
  for (Slot &slot : next.slots)
    if (int32_t error = driver.cuMemAllocHost_v2(&slot.memory, bytes)) {
      slot.memory = nullptr;
      return fail(error, "cuMemAllocHost", input, "pinned memory of the host");
    }
  return MP_OK;
}

int32_t NextInputs::prepare(const Array<bool> &isState) {
  if (stream)
    return MP_OK;
  uint64_t count = loaded.plan.head->inputs.count;
  if (!nextInputs.resize(count))
    return refuseWith(MP_OUT_OF_MEMORY, "out of memory");
  for (uint64_t input = 0; input < count; ++input) {
    if (isState[input] ||
        loaded.plan.getInputs()[input].bytes <= MP_MAX_DIRECT_BYTES)
      continue;
    int32_t code = MP_OK;
    if (!stream)
      if (int32_t error = loaded.driver.cuStreamCreate(
              &stream, MP_CUDA_STREAM_NON_BLOCKING)) {
        stream = nullptr;
        code = loaded.device.fail(error, "cuStreamCreate",
                                  "making a stream for copies");
      }
    if (!code)
      code = allocate(input);
    if (code) {
      destroy();
      return code;
    }
  }
  return MP_OK;
}

/// Ignores errors: they follow from an earlier failure that was reported.
void NextInputs::destroy() {
  const mp_driver &driver = loaded.driver;
  if (stream)
    driver.cuStreamSynchronize(stream);
  for (uint64_t input = 0;
       nextInputs.get() && input < loaded.plan.head->inputs.count; ++input) {
    NextInput &next = nextInputs[input];
    for (Slot &slot : next.slots) {
      if (slot.memory)
        driver.cuMemFreeHost(slot.memory);
      if (slot.copied)
        driver.cuEventDestroy_v2(slot.copied);
    }
    if (next.taken)
      driver.cuEventDestroy_v2(next.taken);
    if (next.buffer) {
      driver.cuMemFree_v2(next.buffer);
      loaded.bytes -= loaded.plan.getInputs()[input].bytes;
    }
    next = {};
  }
  if (stream)
    driver.cuStreamDestroy_v2(stream);
  stream = nullptr;
}

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

int32_t NextInputs::set(uint32_t input, const void *data) {
  const mp_driver &driver = loaded.driver;
  NextInput &next = nextInputs[input];
  Slot &slot = next.slots[next.current];
  uint64_t bytes = loaded.plan.getInputs()[input].bytes;
  if (slot.isUsed)
    if (int32_t error = driver.cuEventSynchronize(slot.copied))
      return fail(error, "cuEventSynchronize", input, "a copy");
  std::memcpy(slot.memory, data, bytes);
  // The call before may still have to read the buffer.
  if (next.isUsed)
    if (int32_t error = driver.cuStreamWaitEvent(stream, next.taken, 0))
      return fail(error, "cuStreamWaitEvent", input, "a copy");
  if (int32_t error =
          driver.cuMemcpyHtoDAsync_v2(next.buffer, slot.memory, bytes, stream))
    return fail(error, "cuMemcpyHtoDAsync", input, "a copy");
  if (int32_t error = driver.cuEventRecord(slot.copied, stream))
    return fail(error, "cuEventRecord", input, "a copy");
  slot.isUsed = true;
  next.pending = &slot;
  next.current ^= 1;
  return MP_OK;
}

int32_t NextInputs::take() {
  const mp_driver &driver = loaded.driver;
  for (uint64_t input = 0; stream && input < loaded.plan.head->inputs.count;
       ++input) {
    NextInput &next = nextInputs[input];
    if (!next.pending)
      continue;
    if (int32_t error =
            driver.cuStreamWaitEvent(loaded.stream, next.pending->copied, 0))
      return fail(error, "cuStreamWaitEvent", input, "a copy");
    if (int32_t error = driver.cuMemcpyDtoDAsync_v2(
            loaded.inputs[input], next.buffer,
            loaded.plan.getInputs()[input].bytes, loaded.stream))
      return fail(error, "cuMemcpyDtoDAsync", input, "a copy");
    if (int32_t error = driver.cuEventRecord(next.taken, loaded.stream))
      return fail(error, "cuEventRecord", input, "a copy");
    next.isUsed = true;
    next.pending = nullptr;
  }
  return MP_OK;
}

int32_t NextInputs::finish() {
  for (uint32_t input = 0; stream && input < loaded.plan.head->inputs.count;
       ++input)
    drop(input);
  if (stream)
    if (int32_t error = loaded.driver.cuStreamSynchronize(stream))
      return loaded.device.fail(error, "cuStreamSynchronize",
                                "copying inputs of the next call");
  return MP_OK;
}
