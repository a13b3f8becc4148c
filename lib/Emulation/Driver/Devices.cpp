//===- Devices.cpp - Properties of the emulated device --------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "State.h"

#include <cstdio>
#include <cstring>

using namespace mp::emulation;

int32_t MP_EMULATED(cuDeviceGetCount)(int32_t *count) {
  Call call(Call::Start, "cuDeviceGetCount");
  *count = call.state.device.devices;
  return call.error;
}

int32_t MP_EMULATED(cuDeviceGet)(int32_t *device, int32_t number) {
  Call call(Call::Start, "cuDeviceGet %d", number);
  if (call.error)
    return call.error;
  if (number < 0 || number >= call.state.device.devices)
    return complain(MP_CUDA_INVALID_DEVICE, "there is no device %d", number);
  *device = number;
  return 0;
}

int32_t MP_EMULATED(cuDeviceGetName)(char *name, int32_t size, int32_t) {
  Call call(Call::Start, "cuDeviceGetName");
  if (!call.error)
    std::snprintf(name, static_cast<size_t>(size), "emulated");
  return call.error;
}

int32_t MP_EMULATED(cuDeviceGetUuid_v2)(char *uuid, int32_t device) {
  Call call(Call::Start, "cuDeviceGetUuid");
  if (call.error)
    return call.error;
  char text[32];
  std::snprintf(text, sizeof(text), "emulated %06d", device);
  std::memcpy(uuid, text, MP_CUDA_UUID_BYTES);
  return 0;
}

int32_t MP_EMULATED(cuDeviceGetAttribute)(int32_t *value, int32_t attribute,
                                          int32_t) {
  Call call(Call::Start, "cuDeviceGetAttribute %d", attribute);
  if (call.error)
    return call.error;
  // Other numbers are those of no product.
  const struct {
    int32_t attribute, value;
  } known[] = {
      {MP_CUDA_ATTRIBUTE_CAPABILITY_MAJOR, call.state.device.major},
      {MP_CUDA_ATTRIBUTE_CAPABILITY_MINOR, call.state.device.minor},
      {MP_CUDA_ATTRIBUTE_SHARED, maxOptInShared},
      {MP_CUDA_ATTRIBUTE_CLOCK, 1'500'000},
      {MP_CUDA_ATTRIBUTE_PROCESSORS, 66},
      {MP_CUDA_ATTRIBUTE_MEMORY_CLOCK, 2'000'000},
      {MP_CUDA_ATTRIBUTE_MEMORY_BITS, 1024},
      {MP_CUDA_ATTRIBUTE_L2_BYTES, 20 << 20},
      {MP_CUDA_ATTRIBUTE_PROCESSOR_THREADS, 2048},
      {MP_CUDA_ATTRIBUTE_PROCESSOR_SHARED, 228 * 1024},
      {MP_CUDA_ATTRIBUTE_PROCESSOR_BLOCKS, 32},
  };
  for (auto &entry : known)
    if (entry.attribute == attribute) {
      *value = entry.value;
      return 0;
    }
  return complain(MP_CUDA_INVALID_VALUE, "unknown attribute %d", attribute);
}
