//===- Driver.cpp - Devices, contexts and errors --------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "State.h"

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>

using namespace mp::emulation;

namespace mp::emulation {

/// The thread's contexts, the current one last.
static thread_local std::vector<void *> contexts;
static thread_local std::string complaint;
static thread_local int32_t complained = 0;

State::State() : device{9, 0, 13000, uint64_t(16) << 30, 1} {
  if (const char *memory = std::getenv("MPOPT_EMULATED_MEMORY"))
    device.memory = std::strtoull(memory, nullptr, 10);
  if (const char *devices = std::getenv("MPOPT_EMULATED_DEVICES"))
    device.devices = std::atoi(devices);
  if (const char *capability = std::getenv("MPOPT_EMULATED_CAPABILITY")) {
    device.major = std::atoi(capability) / 10;
    device.minor = std::atoi(capability) % 10;
  }
  if (const char *version = std::getenv("MPOPT_EMULATED_CUDA"))
    device.version = std::atoi(version);
  if (const char *order = std::getenv("MPOPT_EMULATED_STREAMS"))
    isEarly = !std::strcmp(order, "early");
  if (const char *failing = std::getenv("MPOPT_EMULATED_FAIL"))
    readFailure(failing);
}

/// Parses FUNCTION:NUMBER:ERROR.
void State::readFailure(const char *text) {
  const char *number = std::strchr(text, ':');
  const char *error = number ? std::strchr(number + 1, ':') : nullptr;
  if (!error)
    return;
  failingFunction.assign(text, number);
  failingNumber = std::atoll(number + 1);
  injected = std::atoi(error + 1);
}

bool State::isToFail(const char *call) {
  if (calls++ == failingCall)
    return true;
  // `call` is the name of the function, followed by its arguments.
  if (failingFunction.empty() ||
      failingFunction.compare(0, std::string::npos, call,
                              std::strcspn(call, " ")))
    return false;
  if (failingNumber-- != 0)
    return false;
  // A lost device stays lost, together with its queued work.
  if (injected == MP_CUDA_DEVICE_UNAVAILABLE ||
      injected == MP_CUDA_ECC_UNCORRECTABLE ||
      injected == MP_CUDA_LAUNCH_FAILED) {
    sticky = injected;
    for (auto &entry : streams)
      entry.second->pending.clear();
  }
  return true;
}

State &getState() {
  // The state is never destroyed, since sessions may exist when the process
  // ends.
  static auto *state = new State;
  return *state;
}

bool State::isRecording() const {
  for (auto &entry : streams)
    if (entry.second->recorded)
      return true;
  return false;
}

bool State::isPending() const {
  for (auto &entry : streams)
    if (!entry.second->pending.empty())
      return true;
  return false;
}

void writeLog(const char *format, ...) {
  static FILE *file = [] {
    const char *name = std::getenv("MPOPT_EMULATED_LOG");
    return name ? std::fopen(name, "w") : nullptr;
  }();
  if (!file)
    return;
  va_list arguments;
  va_start(arguments, format);
  std::vfprintf(file, format, arguments);
  va_end(arguments);
  std::fputc('\n', file);
  // Flush, so that no line is lost if the process crashes.
  std::fflush(file);
}

int32_t complain(int32_t error, const char *format, ...) {
  char text[400];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text, sizeof(text), format, arguments);
  va_end(arguments);
  complaint = text;
  complained = error;
  writeLog("error %d: %s", error, text);
  return error;
}

Call::Call(Needs needs, const char *format, ...)
    : state(getState()), lock(state.mutex) {
  char text[300];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text, sizeof(text), format, arguments);
  va_end(arguments);
  writeLog("%s", text);
  if (state.isToFail(text))
    error = complain(state.injected, "%s is to fail", text);
  else if (needs != Nothing && !state.isStarted)
    error = complain(MP_CUDA_NOT_INITIALIZED, "%s: before cuInit", text);
  else if (needs == Context && (contexts.empty() || state.contexts == 0))
    error = complain(MP_CUDA_INVALID_CONTEXT,
                     "%s: no context is current in this thread", text);
  else if (needs == Context && state.sticky)
    error = complain(state.sticky, "%s: the device has failed before", text);
}

int32_t checkQuiet(State &state, const char *what) {
  if (state.isRecording()) {
    for (auto &entry : state.streams)
      entry.second->isInvalid |= entry.second->recorded != nullptr;
    return complain(MP_CUDA_CAPTURE_UNSUPPORTED, "%s while a graph is recorded",
                    what);
  }
  if (state.isPending())
    return complain(MP_CUDA_INVALID_VALUE, "%s while work is in line", what);
  return 0;
}

} // namespace mp::emulation

//===----------------------------------------------------------------------===//
// The driver
//===----------------------------------------------------------------------===//

int32_t MP_EMULATED(cuInit)(uint32_t flags) {
  Call call(Call::Nothing, "cuInit");
  if (call.error)
    return call.error;
  if (flags)
    return complain(MP_CUDA_INVALID_VALUE, "cuInit: found flags %u", flags);
  if (!call.state.device.devices)
    return complain(MP_CUDA_NO_DEVICE, "there is no device");
  call.state.isStarted = true;
  return 0;
}

int32_t MP_EMULATED(cuDriverGetVersion)(int32_t *version) {
  Call call(Call::Nothing, "cuDriverGetVersion");
  *version = call.state.device.version;
  return call.error;
}

int32_t MP_EMULATED(cuGetErrorName)(int32_t error, const char **name) {
  static const struct {
    int32_t error;
    const char *name;
  } names[] = {
      {0, "CUDA_SUCCESS"},
      {MP_CUDA_INVALID_VALUE, "CUDA_ERROR_INVALID_VALUE"},
      {MP_CUDA_OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY"},
      {MP_CUDA_NOT_INITIALIZED, "CUDA_ERROR_NOT_INITIALIZED"},
      {MP_CUDA_DEVICE_UNAVAILABLE, "CUDA_ERROR_DEVICE_UNAVAILABLE"},
      {MP_CUDA_NO_DEVICE, "CUDA_ERROR_NO_DEVICE"},
      {MP_CUDA_INVALID_DEVICE, "CUDA_ERROR_INVALID_DEVICE"},
      {MP_CUDA_INVALID_IMAGE, "CUDA_ERROR_INVALID_IMAGE"},
      {MP_CUDA_INVALID_CONTEXT, "CUDA_ERROR_INVALID_CONTEXT"},
      {MP_CUDA_NO_BINARY_FOR_GPU, "CUDA_ERROR_NO_BINARY_FOR_GPU"},
      {MP_CUDA_ECC_UNCORRECTABLE, "CUDA_ERROR_ECC_UNCORRECTABLE"},
      {MP_CUDA_UNSUPPORTED_PTX_VERSION, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION"},
      {MP_CUDA_INVALID_HANDLE, "CUDA_ERROR_INVALID_HANDLE"},
      {MP_CUDA_NOT_FOUND, "CUDA_ERROR_NOT_FOUND"},
      {MP_CUDA_NOT_READY, "CUDA_ERROR_NOT_READY"},
      {MP_CUDA_LAUNCH_FAILED, "CUDA_ERROR_LAUNCH_FAILED"},
      {MP_CUDA_CAPTURE_UNSUPPORTED, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED"},
      {MP_CUDA_CAPTURE_INVALIDATED, "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED"},
  };
  for (auto &entry : names)
    if (entry.error == error) {
      *name = entry.name;
      return 0;
    }
  *name = nullptr;
  return MP_CUDA_INVALID_VALUE;
}

int32_t MP_EMULATED(cuGetErrorString)(int32_t error, const char **text) {
  bool isKnown = error && error == complained;
  *text = isKnown ? complaint.c_str() : "no text";
  return 0;
}

//===----------------------------------------------------------------------===//
// Contexts
//===----------------------------------------------------------------------===//

int32_t MP_EMULATED(cuDevicePrimaryCtxRetain)(void **context, int32_t) {
  Call call(Call::Start, "cuDevicePrimaryCtxRetain");
  if (call.error)
    return call.error;
  ++call.state.contexts;
  *context = &call.state;
  return 0;
}

int32_t MP_EMULATED(cuDevicePrimaryCtxRelease_v2)(int32_t) {
  Call call(Call::Start, "cuDevicePrimaryCtxRelease");
  if (call.error)
    return call.error;
  if (!call.state.contexts)
    return complain(MP_CUDA_INVALID_CONTEXT, "no context is held");
  if (!--call.state.contexts)
    call.state.sticky = 0;
  return 0;
}

int32_t MP_EMULATED(cuCtxPushCurrent_v2)(void *context) {
  Call call(Call::Start, "cuCtxPushCurrent");
  if (call.error)
    return call.error;
  if (context != &call.state || !call.state.contexts)
    return complain(MP_CUDA_INVALID_CONTEXT, "there is no such context");
  contexts.push_back(context);
  return 0;
}

int32_t MP_EMULATED(cuCtxPopCurrent_v2)(void **context) {
  Call call(Call::Start, "cuCtxPopCurrent");
  if (contexts.empty())
    return complain(MP_CUDA_INVALID_CONTEXT, "no context is current");
  // Pop even if the call is to fail, since threads would otherwise stay in the
  // context.
  *context = contexts.back();
  contexts.pop_back();
  return call.error;
}

//===----------------------------------------------------------------------===//
// Functions for tests
//===----------------------------------------------------------------------===//

const mp_driver *mp_emulated_driver(void) {
  static const mp_driver driver = {
      /*is_emulated=*/1,
#define MP_DRIVER_FUNCTION(NAME, PARAMETERS) MP_EMULATED(NAME),
#include "mp-opt/Runtime/DriverFunctions.def"
  };
  return &driver;
}

int32_t mp_open_emulated_driver(const mp_driver **driver) {
  *driver = mp_emulated_driver();
  return 0;
}

mp_emulated_device mp_emulated_get_device(void) {
  std::lock_guard<std::mutex> lock(getState().mutex);
  return getState().device;
}

void mp_emulated_set_device(const mp_emulated_device *device) {
  std::lock_guard<std::mutex> lock(getState().mutex);
  getState().device = *device;
}

void mp_emulated_set_early(int32_t isEarly) {
  std::lock_guard<std::mutex> lock(getState().mutex);
  getState().isEarly = isEarly != 0;
}

void mp_emulated_fail(int64_t number, int32_t error) {
  State &state = getState();
  std::lock_guard<std::mutex> lock(state.mutex);
  state.failingCall = number < 0 ? -1 : state.calls + number;
  state.injected = error;
}

int64_t mp_emulated_calls(void) {
  std::lock_guard<std::mutex> lock(getState().mutex);
  return getState().calls;
}

int64_t mp_emulated_leaks(void) {
  State &state = getState();
  std::lock_guard<std::mutex> lock(state.mutex);
  return static_cast<int64_t>(state.memory.getCount() + state.streams.size() +
                              state.events.size() + state.graphs.size() +
                              state.executables.size() + state.modules.size() +
                              state.hostMemory.size()) +
         state.contexts;
}
