//===- Driver.cpp - libcuda.so.1 ------------------------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../CPU/Internal.h"
#include "../CPU/LastError.h"
#include "mp-opt/Runtime/Device.h"

#include <dlfcn.h>

using namespace mp::runtime;

namespace {
constexpr const char *libraryName = "libcuda.so.1";

/// The library is never closed, since the driver cannot be started twice.
Mutex mutex;
mp_driver driver;
bool isOpen = false;

template <typename Function>
bool find(void *library, const char *name, Function &function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  return function != nullptr;
}
} // namespace

static int32_t findFunctions(void *library, mp_driver &found) {
#define MP_DRIVER_FUNCTION(NAME, PARAMETERS)                                   \
  if (!find(library, #NAME, found.NAME))                                       \
    return refuseWith(MP_NO_DEVICE,                                            \
                      "the NVIDIA driver is too old: %s has no %s, which "     \
                      "drivers from CUDA 12.0 on have",                        \
                      libraryName, #NAME);
#include "mp-opt/Runtime/DriverFunctions.def"
  return MP_OK;
}

static int32_t start(const mp_driver &found) {
  int32_t count = 0;
  int32_t error = found.cuInit(0);
  if (!error)
    error = found.cuDeviceGetCount(&count);
  if (error == MP_CUDA_NO_DEVICE || (!error && count == 0))
    return refuseWith(MP_NO_DEVICE, "the NVIDIA driver finds no device");
  if (!error)
    return MP_OK;
  const char *name = nullptr, *text = nullptr;
  found.cuGetErrorName(error, &name);
  found.cuGetErrorString(error, &text);
  return refuseWith(MP_NO_DEVICE, "the NVIDIA driver does not start: %s (%s)",
                    name ? name : "unknown error", text ? text : "no text");
}

int32_t mp_cuda_driver(const mp_driver **result) {
  *result = nullptr;
  Lock lock(mutex);
  if (!isOpen) {
    void *library = dlopen(libraryName, RTLD_NOW | RTLD_LOCAL);
    if (!library)
      return refuseWith(MP_NO_DEVICE, "there is no NVIDIA driver: %s",
                        dlerror());
    mp_driver found = {};
    int32_t code = findFunctions(library, found);
    if (code == MP_OK)
      code = start(found);
    if (code != MP_OK) {
      dlclose(library);
      return code;
    }
    driver = found;
    isOpen = true;
  }
  *result = &driver;
  return MP_OK;
}
