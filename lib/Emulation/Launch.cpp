//===- Launch.cpp - A kernel from its first block to its last -------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Machine.h"

#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <pthread.h>

namespace mp::emulation {

Machine machine;

// Compiled kernels depend on the offsets of fields.
static_assert(offsetof(mp_emulated_block, shared) == 40);
static_assert(offsetof(mp_emulated_thread, tid) == 8);
static_assert(offsetof(mp_emulated_thread, lane) == 20);
static_assert(offsetof(mp_emulated_kernel, flags) == 28);
static_assert(offsetof(mp_emulated_kernel, gaps) == 48);
static_assert(sizeof(mp_emulated_kernel) == 64);

namespace {

/// Serializes launches.
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
thread_local char error[1024];

/// A text in a fixed buffer; text that does not fit is cut off.
class Text {
public:
  Text(char *data, size_t bytes) : data(data), bytes(bytes) { data[0] = 0; }

  void add(const char *format, ...) __attribute__((format(printf, 2, 3))) {
    va_list arguments;
    va_start(arguments, format);
    addList(format, arguments);
    va_end(arguments);
  }
  __attribute__((format(printf, 2, 0))) void addList(const char *format,
                                                     va_list arguments) {
    int more = vsnprintf(data + length, bytes - length, format, arguments);
    length += more > 0 ? static_cast<size_t>(more) : 0;
    length = length < bytes ? length : bytes - 1;
  }

private:
  char *data;
  size_t bytes, length = 0;
};

__attribute__((format(printf, 3, 0))) void writeError(const Fiber *fiber,
                                                      uint32_t place,
                                                      const char *format,
                                                      va_list arguments) {
  Text text(error, sizeof(error));
  const uint32_t *block = machine.block.ctaid;
  text.add("kernel '%s', block (%u, %u, %u)", machine.kernel->name, block[0],
           block[1], block[2]);
  if (fiber)
    text.add(", %s", ThreadName(*fiber).text);
  if (place != noPlace)
    text.add(", %s", getText(place));
  text.add(": ");
  text.addList(format, arguments);
  machine.hasFailed = true;
}

int32_t refuse(const mp_emulated_kernel &kernel, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
int32_t refuse(const mp_emulated_kernel &kernel, const char *format, ...) {
  Text text(error, sizeof(error));
  text.add("kernel '%s': ", kernel.name);
  va_list arguments;
  va_start(arguments, format);
  text.addList(format, arguments);
  va_end(arguments);
  return -1;
}

/// Checks the sizes of a launch.
int32_t checkSizes(const mp_emulated_kernel &kernel, const uint32_t *grid,
                   const uint32_t *block, uint32_t dynamicShared) {
  constexpr uint32_t most[3] = {0x7fffffff, 65535, 65535};
  for (int axis = 0; axis < 3; ++axis)
    if (!grid[axis] || grid[axis] > most[axis])
      return refuse(kernel, "found a grid of %u x %u x %u blocks", grid[0],
                    grid[1], grid[2]);
  uint64_t threads = 1;
  for (int axis = 0; axis < 3; ++axis)
    threads = threads > maxThreads ? threads : threads * block[axis];
  uint32_t limit = maxThreads;
  if (kernel.max_threads && kernel.max_threads < limit)
    limit = kernel.max_threads;
  if (!threads || threads > limit || block[2] > 64)
    return refuse(kernel,
                  "found a block of %u x %u x %u threads, expected 1 to %u",
                  block[0], block[1], block[2], limit);
  if (kernel.block[0] && memcmp(kernel.block, block, sizeof(kernel.block)))
    return refuse(kernel,
                  "found a block of %u x %u x %u threads, expected %u x %u x "
                  "%u",
                  block[0], block[1], block[2], kernel.block[0],
                  kernel.block[1], kernel.block[2]);
  if (kernel.static_shared > maxStaticShared)
    return refuse(kernel,
                  "found %u bytes of static shared memory, expected at most %u",
                  kernel.static_shared, maxStaticShared);
  if (dynamicShared > maxShared - kernel.static_shared)
    return refuse(kernel,
                  "found %u bytes of shared memory, expected at most %u",
                  dynamicShared, maxShared - kernel.static_shared);
  return 0;
}

void setSizes(const uint32_t *grid, const uint32_t *block,
              uint32_t dynamicShared) {
  memcpy(machine.block.ntid, block, sizeof(machine.block.ntid));
  memcpy(machine.block.nctaid, grid, sizeof(machine.block.nctaid));
  memset(machine.block.ctaid, 0, sizeof(machine.block.ctaid));
  machine.dynamicShared = dynamicShared;
  machine.sharedBytes = machine.kernel->static_shared;
  if (dynamicShared)
    machine.sharedBytes = (machine.sharedBytes + sharedAlignment - 1) /
                              sharedAlignment * sharedAlignment +
                          dynamicShared;
  machine.numThreads = block[0] * block[1] * block[2];
  machine.numWarps = (machine.numThreads + warpSize - 1) / warpSize;
}

/// Sets the thread indices of all fibers, for all blocks of the launch.
void setThreads() {
  const uint32_t *size = machine.block.ntid;
  uint32_t index = 0;
  for (uint32_t z = 0; z < size[2]; ++z)
    for (uint32_t y = 0; y < size[1]; ++y)
      for (uint32_t x = 0; x < size[0]; ++x, ++index) {
        Fiber &fiber = machine.fibers[index];
        fiber.block = &machine.block;
        fiber.tid[0] = x;
        fiber.tid[1] = y;
        fiber.tid[2] = z;
        fiber.id = index;
        fiber.lane = index % warpSize;
        fiber.warp = index / warpSize;
      }
  for (uint32_t warp = 0; warp < machine.numWarps; ++warp) {
    uint32_t lanes = machine.numThreads - warp * warpSize;
    machine.warps[warp].present = lanes < warpSize ? (1u << lanes) - 1 : ~0u;
  }
}

/// Marks the threads of the block as ready, in order.
void beginBlock(bool synchronizes) {
  machine.ended = 0;
  machine.ready.append(machine.fibers[0]);
  if (synchronizes) {
    for (uint32_t index = 1; index < machine.numThreads; ++index)
      machine.ready.append(machine.fibers[index]);
    for (uint32_t warp = 0; warp < machine.numWarps; ++warp)
      machine.warps[warp].ended = machine.warps[warp].open = 0;
    for (Barrier &barrier : machine.barriers)
      barrier = Barrier();
  }
  if (looksForRaces()) {
    beginEpoch();
    for (uint32_t index = 0; index < machine.numThreads; ++index)
      machine.fibers[index].step = 0;
  }
  ++machine.figures.blocks;
}

/// Reports where the threads of a deadlock wait.
void reportDeadlock() {
  char list[512];
  Text text(list, sizeof(list));
  uint32_t named[3], numNamed = 0;
  for (uint32_t index = 0; index < machine.numThreads; ++index) {
    const Fiber &fiber = machine.fibers[index];
    bool isKnown = !fiber.isWaiting;
    for (uint32_t other = 0; other < numNamed; ++other)
      isKnown |= named[other] == fiber.place;
    if (isKnown || numNamed == 3)
      continue;
    uint32_t count = 0;
    for (uint32_t other = index; other < machine.numThreads; ++other)
      count += machine.fibers[other].isWaiting &&
               machine.fibers[other].place == fiber.place;
    text.add("%s%u at %s, %s among them", numNamed ? "; " : "", count,
             getText(fiber.place), ThreadName(fiber).text);
    named[numNamed++] = fiber.place;
  }
  setError(nullptr, noPlace,
           "threads wait for each other: %s; %u of %u have ended", list,
           machine.ended, machine.numThreads);
}

bool runBlock() {
  const mp_emulated_kernel &kernel = *machine.kernel;
  bool shares = kernel.flags & MP_EMULATED_SHARES;
  if (shares)
    clearShared();
  beginBlock(kernel.flags & MP_EMULATED_SYNCHRONIZES);
  runFibers();
  if (!machine.hasFailed && machine.ended < machine.numThreads)
    reportDeadlock();
  if (shares && !machine.hasFailed)
    checkShared();
  return !machine.hasFailed;
}

bool runBlocks(const uint32_t *grid) {
  uint32_t *block = machine.block.ctaid;
  for (block[2] = 0; block[2] < grid[2]; ++block[2])
    for (block[1] = 0; block[1] < grid[1]; ++block[1])
      for (block[0] = 0; block[0] < grid[0]; ++block[0])
        if (!runBlock())
          return false;
  return true;
}

int32_t launch(const mp_emulated_kernel &kernel, const uint32_t *grid,
               const uint32_t *block, uint32_t dynamicShared,
               void **parameters) {
  error[0] = 0;
  if (checkSizes(kernel, grid, block, dynamicShared))
    return -1;
  machine.kernel = &kernel;
  machine.parameters = parameters;
  machine.hasFailed = false;
  setSizes(grid, block, dynamicShared);
  bool synchronizes = kernel.flags & MP_EMULATED_SYNCHRONIZES;
  if (!prepareFibers(synchronizes ? machine.numThreads : 1) ||
      !prepareShared() || !prepareRaces())
    return refuse(kernel, "out of memory");
  setThreads();
  ++machine.figures.launches;
  if (runBlocks(grid)) {
    machine.figures.threads +=
        uint64_t(grid[0]) * grid[1] * grid[2] * machine.numThreads;
    return 0;
  }
  forgetFibers();
  return -1;
}

} // namespace

const char *getText(uint32_t place) {
  const char *text = machine.kernel->places;
  if (place == noPlace || !text)
    return "an instruction";
  for (; place; --place)
    text += strlen(text) + 1;
  return text;
}

ThreadName::ThreadName(const Fiber &fiber) {
  snprintf(text, sizeof(text), "thread (%u, %u, %u)", fiber.tid[0],
           fiber.tid[1], fiber.tid[2]);
}

void setError(const Fiber *fiber, uint32_t place, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  writeError(fiber, place, format, arguments);
  va_end(arguments);
}

void fail(Fiber &fiber, uint32_t place, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  writeError(&fiber, place, format, arguments);
  va_end(arguments);
  abandon(fiber);
}

} // namespace mp::emulation

using namespace mp::emulation;

extern "C" {

int32_t mp_emulate_launch(const mp_emulated_kernel *kernel,
                          const uint32_t grid[3], const uint32_t block[3],
                          uint32_t dynamic_shared, void **parameters) {
  pthread_mutex_lock(&mutex);
  int32_t result = launch(*kernel, grid, block, dynamic_shared, parameters);
  pthread_mutex_unlock(&mutex);
  return result;
}

const char *mp_emulation_error(void) { return error; }

mp_emulation_figures mp_emulation_counts(void) {
  pthread_mutex_lock(&mutex);
  mp_emulation_figures figures = machine.figures;
  pthread_mutex_unlock(&mutex);
  return figures;
}

} // extern "C"
