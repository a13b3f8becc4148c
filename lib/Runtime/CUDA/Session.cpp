//===- Session.cpp - A plan on a device -----------------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A call is one launch of a graph, which was recorded when the session was
// created, since addresses never change. The number of the call is written by
// memset, which reads no host memory that would have to stay unchanged.
//
//===----------------------------------------------------------------------===//

#include "Session.h"
#include "../CPU/LastError.h"

#include <cstdio>

using namespace mp::runtime;

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

int32_t mp_session::set(uint32_t input, const void *data) {
  if (input >= plan.head->inputs.count)
    return refuseWith(MP_BAD_INPUT, "found input %u, expected one of %llu",
                      input,
                      static_cast<unsigned long long>(plan.head->inputs.count));
  const mp_plan_buffer &buffer = plan.getInputs()[input];
  if (!buffer.bytes)
    return MP_OK;
  Current current(device);
  if (current.error)
    return device.fail(current.error, "cuCtxPushCurrent", "using its context");
  if (int32_t error = driver.cuMemcpyHtoDAsync_v2(inputs[input], data,
                                                  buffer.bytes, stream)) {
    char text[200];
    std::snprintf(text, sizeof(text), "copying input '%.150s'",
                  plan.getText(buffer.name));
    return device.fail(error, "cuMemcpyHtoDAsync", text);
  }
  nextInputs.drop(input);
  isSet[input] = true;
  hasNewStates |= isState[input];
  return MP_OK;
}

int32_t mp_session::prepareReductions() {
  if (!plan.head->reductions.count || onDevices.isReadyFor(getDeviceRanks()))
    return MP_OK;
  Current current(device);
  if (current.error)
    return device.fail(current.error, "cuCtxPushCurrent", "using its context");
  // Buffers are allocated, which no queued work may precede.
  int32_t code = nextInputs.wait();
  return code ? code : onDevices.prepare(getDeviceRanks());
}

int32_t mp_session::run(int64_t number) {
  for (uint64_t index = 0; index < plan.head->inputs.count; ++index)
    if (!isSet[index] && !nextInputs.has(static_cast<uint32_t>(index)))
      return refuseWith(MP_BAD_INPUT, "input '%s': no data",
                        plan.getText(plan.getInputs()[index].name));
  if (!pieceCount)
    return MP_OK;
  Current current(device);
  if (current.error)
    return device.fail(current.error, "cuCtxPushCurrent", "using its context");
  if (int32_t code = prepareReductions())
    return code;
  if (onDevices.isInUse())
    if (int32_t code = onDevices.begin())
      return code;
  mp_device_address word = control + MP_CONTROL_CALL * sizeof(int64_t);
  auto lower = static_cast<uint32_t>(number);
  auto newUpper = static_cast<uint32_t>(static_cast<uint64_t>(number) >> 32);
  int32_t error = driver.cuMemsetD32Async(word, lower, 1, stream);
  if (!error && newUpper != upper)
    error = driver.cuMemsetD32Async(word + sizeof(lower), newUpper, 1, stream);
  if (error)
    return device.fail(error, "cuMemsetD32Async", "numbering a call");
  upper = newUpper;
  hasCalls = true;
  if (hasNewStates)
    if (int32_t code = record(/*whenSet=*/true, 0, plan.head->records.count))
      return code;
  hasNewStates = false;
  if (int32_t code = nextInputs.take())
    return code;
  for (uint64_t index = 0; index < plan.head->inputs.count; ++index)
    isSet[index] = true;
  for (uint64_t index = 0; index < pieceCount; ++index) {
    const Piece &piece = pieces[index];
    if (int32_t code = launchPiece(*this, index))
      return code;
    if (int32_t code = reduce(piece))
      return code;
  }
  return MP_OK;
}

int32_t mp_session::get(mp_device_address from, uint64_t size, void *to,
                        const char *name) {
  if (!size)
    return MP_OK;
  Current current(device);
  if (current.error)
    return device.fail(current.error, "cuCtxPushCurrent", "using its context");
  int32_t error = driver.cuMemcpyDtoHAsync_v2(to, from, size, stream);
  if (!error)
    return MP_OK;
  char text[200];
  std::snprintf(text, sizeof(text), "copying '%.150s'", name);
  return device.fail(error, "cuMemcpyDtoHAsync", text);
}

/// Converts the error that a kernel has reported.
int32_t mp_session::reportError() {
  if (!words[MP_CONTROL_FAILED])
    return MP_OK;
  auto text = static_cast<uint64_t>(words[MP_CONTROL_ERROR]);
  // Later calls start without the error.
  if (int32_t code = clearControl())
    return code;
  if (!text || text > plan.head->errors.count)
    return refuseWith(MP_DEVICE_FAILED,
                      "device '%s': a kernel has failed with error %lld of "
                      "%llu that there are",
                      device.name, static_cast<long long>(text),
                      static_cast<unsigned long long>(plan.head->errors.count));
  setLastError(plan.getText(plan.getErrors()[text - 1]),
               words[MP_CONTROL_FIRST], words[MP_CONTROL_SECOND]);
  return MP_BAD_VALUE;
}

int32_t mp_session::synchronize(const char *what) {
  // Other ranks may never reach a collective that this rank waits for.
  if (onDevices.isInUse())
    return onDevices.wait();
  if (int32_t error = driver.cuStreamSynchronize(stream))
    return device.fail(error, "cuStreamSynchronize", what);
  return MP_OK;
}

int32_t mp_session::wait() {
  Current current(device);
  if (current.error)
    return device.fail(current.error, "cuCtxPushCurrent", "using its context");
  if (hasCalls)
    if (int32_t error =
            driver.cuMemcpyDtoHAsync_v2(words, control, controlBytes, stream))
      return device.fail(error, "cuMemcpyDtoHAsync", "reading errors");
  if (int32_t code = synchronize("running the model"))
    return code;
  if (onDevices.isInUse())
    onDevices.tellTimes();
  bool hadCalls = hasCalls;
  hasCalls = false;
  return hadCalls ? reportError() : MP_OK;
}
