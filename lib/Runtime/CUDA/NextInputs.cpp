//===- NextInputs.cpp - Inputs copied during the call before --------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NextInputs.h"

#include "../CPU/LastError.h"
#include "Session.h"

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

int32_t NextInputs::start() {
  uint64_t count = loaded.plan.head->inputs.count;
  Array<bool> isState;
  if (!nextInputs.resize(count) || !isState.resize(count))
    return refuseWith(MP_OUT_OF_MEMORY, "out of memory");
  for (uint64_t output = 0; output < loaded.plan.head->outputs.count; ++output)
    if (int64_t state = loaded.plan.getOutputs()[output].state; state >= 0)
      isState[static_cast<uint64_t>(state)] = true;
  for (uint64_t input = 0; input < count; ++input) {
    if (isState[input] ||
        loaded.plan.getInputs()[input].bytes <= MP_MAX_DIRECT_BYTES)
      continue;
    if (!stream)
      if (int32_t error = loaded.driver.cuStreamCreate(
              &stream, MP_CUDA_STREAM_NON_BLOCKING)) {
        stream = nullptr;
        return loaded.device.fail(error, "cuStreamCreate",
                                  "making a stream for copies");
      }
    if (int32_t code = allocate(input))
      return code;
  }
  return MP_OK;
}

int32_t NextInputs::prepare() {
  if (stream)
    return MP_OK;
  Current current(loaded.device);
  if (current.error)
    return loaded.device.fail(current.error, "cuCtxPushCurrent",
                              "using its context");
  int32_t code = start();
  // Frees what has been created before the failure.
  if (code)
    destroy();
  return code;
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
  Current current(loaded.device);
  if (current.error)
    return loaded.device.fail(current.error, "cuCtxPushCurrent",
                              "using its context");
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

int32_t NextInputs::wait() {
  if (!stream)
    return MP_OK;
  Current current(loaded.device);
  if (current.error)
    return loaded.device.fail(current.error, "cuCtxPushCurrent",
                              "using its context");
  if (int32_t error = loaded.driver.cuStreamSynchronize(stream))
    return loaded.device.fail(error, "cuStreamSynchronize",
                              "copying inputs of the next call");
  return MP_OK;
}

int32_t NextInputs::finish() {
  for (uint32_t input = 0; stream && input < loaded.plan.head->inputs.count;
       ++input)
    drop(input);
  return wait();
}

//===----------------------------------------------------------------------===//
// C
//===----------------------------------------------------------------------===//

int32_t mp_session_prepare_next(mp_session *session) {
  clearLastError();
  // Reductions cannot do without their buffers, so they come first.
  if (int32_t code = session->prepareReductions())
    return code == MP_OUT_OF_MEMORY ? MP_DEVICE_FAILED : code;
  return session->nextInputs.prepare();
}

int32_t mp_session_takes_next(const mp_session *session, uint32_t input) {
  return input < session->plan.head->inputs.count &&
         session->nextInputs.takes(input);
}

int32_t mp_session_set_next(mp_session *session, uint32_t input,
                            const void *data) {
  clearLastError();
  const PlanView &plan = session->plan;
  if (input >= plan.head->inputs.count)
    return refuseWith(MP_BAD_INPUT, "found input %u, expected one of %llu",
                      input,
                      static_cast<unsigned long long>(plan.head->inputs.count));
  if (!session->nextInputs.takes(input))
    return refuseWith(MP_BAD_INPUT,
                      "input '%s' cannot be set for the next call",
                      plan.getText(plan.getInputs()[input].name));
  return session->nextInputs.set(input, data);
}

int32_t mp_session_finish_next(mp_session *session) {
  clearLastError();
  return session->nextInputs.finish();
}
