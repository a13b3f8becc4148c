//===- Fibers.cpp - Threads of a block ------------------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A fiber runs the kernel repeatedly, once for each block: between two blocks
// it waits at the end of the kernel, so that nothing has to be created again.
//
//===----------------------------------------------------------------------===//

#include "Machine.h"

#include <sys/mman.h>
#include <unistd.h>

#ifdef MP_ADDRESS_SANITIZER
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

namespace mp::emulation {

namespace {

char *stacks = nullptr;
size_t pageBytes = 0;
/// The number of accessible stacks, which are separated by inaccessible pages.
uint32_t numStacks = 0;

#ifdef MP_ADDRESS_SANITIZER
void *outsideFakeStack;
const void *outsideStack;
size_t outsideBytes;
#endif

size_t getStride() { return stackBytes + pageBytes; }

bool reserveStacks() {
  pageBytes = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  void *memory = mmap(nullptr, getStride() * maxThreads + pageBytes, PROT_NONE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED)
    return false;
  stacks = static_cast<char *>(memory) + pageBytes;
  return true;
}

bool addStacks(uint32_t count) {
  for (; numStacks < count; ++numStacks) {
    char *stack = stacks + getStride() * numStacks;
    if (mprotect(stack, stackBytes, PROT_READ | PROT_WRITE))
      return false;
    machine.fibers[numStacks].stack = stack;
  }
  return true;
}

/// Tells AddressSanitizer about a change of stacks, before and after it.
void startSwitch(Fiber *from, const Fiber *to, bool isForEver = false) {
#ifdef MP_ADDRESS_SANITIZER
  void **fake = from ? &from->fakeStack : &outsideFakeStack;
  __sanitizer_start_switch_fiber(isForEver ? nullptr : fake,
                                 to ? to->stack : outsideStack,
                                 to ? stackBytes : outsideBytes);
#endif
}
void finishSwitch(Fiber *at) {
#ifdef MP_ADDRESS_SANITIZER
  const void *bottom = nullptr;
  size_t bytes = 0;
  __sanitizer_finish_switch_fiber(at ? at->fakeStack : outsideFakeStack,
                                  &bottom, &bytes);
  // The only stack that is not known here is that of the launching thread.
  if (at && (bottom < stacks || bottom >= stacks + getStride() * maxThreads)) {
    outsideStack = bottom;
    outsideBytes = bytes;
  }
#endif
}

/// Switches to the next fiber that is ready, or to the launching thread.
void resumeNext(Fiber &fiber) {
  Fiber *next = machine.ready.take();
  if (next == &fiber)
    return;
  machine.current = next;
  // The stack of the fiber after that is most likely not in the cache.
  if (Fiber *after = machine.ready.first) {
    const char *stack = static_cast<const char *>(after->stackPointer);
    __builtin_prefetch(stack);
    __builtin_prefetch(stack + 64);
    __builtin_prefetch(stack + 128);
    __builtin_prefetch(after->next);
  }
  startSwitch(&fiber, next);
  mp_emulation_switch(&fiber.stackPointer,
                      next ? next->stackPointer : machine.outside);
  finishSwitch(&fiber);
}

void endThread(Fiber &fiber) {
  leaveBarriers(fiber);
  leaveWarp(fiber);
  dropCopies(fiber);
  ++machine.ended;
}

/// Runs all threads of a block in which none waits for another.
void runThreads(Fiber &fiber) {
  const uint32_t *size = machine.block.ntid;
  uint32_t index = 0;
  for (fiber.tid[2] = 0; fiber.tid[2] < size[2]; ++fiber.tid[2])
    for (fiber.tid[1] = 0; fiber.tid[1] < size[1]; ++fiber.tid[1])
      for (fiber.tid[0] = 0; fiber.tid[0] < size[0]; ++fiber.tid[0], ++index) {
        fiber.id = index;
        fiber.lane = index % warpSize;
        fiber.warp = index / warpSize;
        machine.kernel->code(machine.parameters);
        dropCopies(fiber);
      }
  machine.ended = machine.numThreads;
}

void runFiber() {
  Fiber &fiber = *machine.current;
  finishSwitch(&fiber);
  while (true) {
    if (machine.kernel->flags & MP_EMULATED_SYNCHRONIZES) {
      machine.kernel->code(machine.parameters);
      endThread(fiber);
    } else {
      runThreads(fiber);
    }
    resumeNext(fiber);
  }
}

/// Sets up the stack for the first switch to a fiber.
void prepare(Fiber &fiber, uint32_t index) {
  // Stacks are offset from each other, since equal offsets within a page would
  // compete for the same few cache lines.
  size_t color = index % 32 * 128 + 256;
  char *end = static_cast<char *>(fiber.stack) + stackBytes - color;
  void **top = reinterpret_cast<void **>(end);
#if defined(__x86_64__)
  // The return address of the outermost frame.
  *--top = nullptr;
  *--top = reinterpret_cast<void *>(&runFiber);
  for (int index = 0; index < 6; ++index)
    *--top = nullptr;
#else
  top -= 20;
  for (int index = 0; index < 20; ++index)
    top[index] = nullptr;
  top[1] = reinterpret_cast<void *>(&runFiber);
#endif
  fiber.stackPointer = top;
#ifdef MP_ADDRESS_SANITIZER
  // Functions that were left by an abandoned launch have poisoned parts of the
  // stack.
  __asan_unpoison_memory_region(fiber.stack, stackBytes);
  fiber.fakeStack = nullptr;
#endif
}

} // namespace

void Queue::append(Queue &more) {
  if (!more.first)
    return;
  (last ? last->next : first) = more.first;
  last = more.last;
  more = Queue();
}

void Queue::prepend(Queue &more) {
  if (!more.first)
    return;
  more.last->next = first;
  if (!last)
    last = more.last;
  first = more.first;
  more = Queue();
}

bool prepareFibers(uint32_t count) {
  if (!stacks && !reserveStacks())
    return false;
  if (!addStacks(count))
    return false;
  for (; machine.numPrepared < count; ++machine.numPrepared)
    prepare(machine.fibers[machine.numPrepared], machine.numPrepared);
  return true;
}

void forgetFibers() {
  machine.numPrepared = 0;
  machine.ready = Queue();
  for (Fiber &fiber : machine.fibers) {
    fiber.isWaiting = false;
    dropCopies(fiber);
  }
}

void runFibers() {
  Fiber *first = machine.ready.take();
  machine.current = first;
  startSwitch(nullptr, first);
  mp_emulation_switch(&machine.outside, first->stackPointer);
  finishSwitch(nullptr);
  machine.current = nullptr;
}

void yield(Fiber &fiber) {
  fiber.isWaiting = true;
  resumeNext(fiber);
  fiber.isWaiting = false;
}

void abandon(Fiber &fiber) {
  startSwitch(&fiber, nullptr, /*isForEver=*/true);
  mp_emulation_switch(&fiber.stackPointer, machine.outside);
  __builtin_unreachable();
}

} // namespace mp::emulation

extern "C" mp_emulated_thread *mp_emulated_this_thread(void) {
  return mp::emulation::machine.current;
}
