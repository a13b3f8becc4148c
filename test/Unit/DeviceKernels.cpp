//===- DeviceKernels.cpp - Kernels by hand, as emulation makes them -------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For tests of the run time: a step that writes over its state, one that finds
// fault with its input, and such as break the rules.
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Emulation/EmulatedCode.h"
#include "mp-opt/Emulation/Emulator.h"
#include "mp-opt/Runtime/Plan.h"

template <typename T> static T *get(void **parameters, int index) {
  return *static_cast<T **>(parameters[index]);
}

static uint32_t getNumber() {
  const mp_emulated_thread *thread = mp_emulated_this_thread();
  return thread->block->ctaid[0] * thread->block->ntid[0] + thread->tid[0];
}

/// w += x * k, where x is not negative; `temporary` is the number of the call.
static void step(void **parameters) {
  uint32_t i = getNumber();
  const float *x = get<const float>(parameters, 0);
  float *w = get<float>(parameters, 1);
  const float *k = get<const float>(parameters, 2);
  float *temporary = get<float>(parameters, 3);
  int64_t *control = get<int64_t>(parameters, 4);
  if (x[i] < 0) {
    if (!control[MP_CONTROL_FAILED]) {
      control[MP_CONTROL_FAILED] = 1;
      control[MP_CONTROL_ERROR] = 2;
      control[MP_CONTROL_FIRST] = i;
      control[MP_CONTROL_SECOND] = static_cast<int64_t>(x[i]);
    }
    return;
  }
  w[i] += x[i] * k[i];
  temporary[i] = static_cast<float>(control[0]);
}

/// y = w + temporary.
static void add(void **parameters) {
  uint32_t i = getNumber();
  get<float>(parameters, 2)[i] =
      get<const float>(parameters, 0)[i] + get<const float>(parameters, 1)[i];
}

/// Writes one element too much.
static void leave(void **parameters) {
  get<float>(parameters, 0)[1 + getNumber()] = 1;
}

static mp_emulated_kernel make(const char *name, void (*code)(void **),
                               uint32_t parameters) {
  mp_emulated_kernel kernel = {};
  kernel.name = name;
  kernel.code = code;
  kernel.parameters = parameters;
  kernel.max_threads = 64;
  kernel.places = "";
  return kernel;
}

extern "C" {
extern const mp_emulated_kernel mp_emulated_kernels[] = {
    make("step", step, 5), make("add", add, 3), make("leave", leave, 1)};
extern const uint32_t mp_emulated_kernel_count = 3;
}
