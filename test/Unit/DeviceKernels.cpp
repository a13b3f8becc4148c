//===- DeviceKernels.cpp - Kernels by hand, as emulation makes them -------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Kernels for tests of the runtime: a step that writes over its state, one that
// reports an error of its input, and some that break the rules.
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

/// Copies pieces between ranks: a row of blocks for each piece.
static void copyPieces(void **parameters) {
  const mp_emulated_block *block = mp_emulated_this_thread()->block;
  const auto &piece = get<const mp_rank_piece>(parameters, 0)[block->ctaid[1]];
  auto *from = reinterpret_cast<const float *>(piece.from);
  for (uint64_t i = getNumber(); i < piece.count;
       i += uint64_t(block->nctaid[0]) * block->ntid[0])
    reinterpret_cast<float *>(piece.to)[i] = from[i];
}

/// And add up.
static void addParts(void **parameters) {
  const mp_emulated_block *block = mp_emulated_this_thread()->block;
  const auto &parts = *get<const mp_rank_parts>(parameters, 0);
  auto *from = reinterpret_cast<const float *>(parts.from);
  for (uint64_t i = getNumber(); i < parts.count;
       i += uint64_t(block->nctaid[0]) * block->ntid[0]) {
    float sum = 0;
    for (uint64_t rank = 0; rank < parts.ranks; ++rank)
      sum += from[rank * parts.stride + i];
    reinterpret_cast<float *>(parts.to)[i] =
        parts.divides ? sum / static_cast<float>(parts.ranks) : sum;
  }
}

static mp_emulated_kernel make(const char *name, void (*code)(void **),
                               uint32_t parameters, uint32_t threads = 64) {
  mp_emulated_kernel kernel = {};
  kernel.name = name;
  kernel.code = code;
  kernel.parameters = parameters;
  kernel.max_threads = threads;
  kernel.places = "";
  return kernel;
}

extern "C" {
extern const mp_emulated_kernel mp_emulated_kernels[] = {
    make("step", step, 5), make("add", add, 3), make("leave", leave, 1),
    make("mp_copy_f32_f32", copyPieces, 1, MP_RANK_THREADS),
    make("mp_add_f32_f32", addParts, 1, MP_RANK_THREADS)};
extern const uint32_t mp_emulated_kernel_count = 5;
}
