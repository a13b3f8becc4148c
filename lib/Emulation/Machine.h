//===- Machine.h - State of the emulator ------------------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Blocks of a launch run one after the other. The threads of a block are
// fibers, each with its own stack: a fiber runs until it waits for others, and
// yields to the next one that is ready. Threads of kernels without any
// synchronization run on the first fiber, one after the other.
//
// The emulator is linked into programs that may be written in C, so it only
// uses parts of C++ that need no library.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_EMULATION_MACHINE_H
#define MPOPT_LIB_EMULATION_MACHINE_H

#include "mp-opt/Codegen/Target/GPULimits.h"
#include "mp-opt/Emulation/EmulatedCode.h"
#include "mp-opt/Emulation/Emulator.h"

#include <cstddef>

#if defined(__SANITIZE_ADDRESS__)
#define MP_ADDRESS_SANITIZER
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define MP_ADDRESS_SANITIZER
#endif
#endif

namespace mp::emulation {

constexpr uint32_t warpSize = device::warpSize;
constexpr uint32_t maxThreads = device::maxThreads;
constexpr uint32_t numBarriers = 16;
/// Limits of Hopper in bytes: all shared memory, and its static part.
constexpr uint32_t maxShared = device::maxHopperShared,
                   maxStaticShared = device::maxStaticShared;
/// The alignment of dynamic shared memory.
constexpr uint32_t sharedAlignment = 1024;
constexpr size_t stackBytes = 128 * 1024;
/// Marks the absence of a place.
constexpr uint32_t noPlace = ~0u;

/// A pending copy of cp.async, made when its thread waits for it.
struct Copy {
  char *to;
  const char *from;
  uint32_t bytes, used;
  /// The number of groups that the thread had committed before.
  uint32_t group, place;
};

struct Copies {
  Copy *items = nullptr;
  uint32_t count = 0, capacity = 0;
  /// The number of groups that were committed so far.
  uint32_t committed = 0;
};

/// The fields used by a fiber switch share one cache line.
struct alignas(64) Fiber : mp_emulated_thread {
  void *stackPointer = nullptr;
  /// The next fiber in the same queue, of ready or of waiting fibers.
  Fiber *next = nullptr;
  /// The location where it waits.
  uint32_t place = 0;
  bool isWaiting = false;
  /// The input and output of a convergence point of its warp.
  uint64_t value = 0, result = 0;
  uint32_t offset = 0, clamp = 0;
  const uint32_t *in = nullptr;
  uint32_t *out = nullptr;
  const char *row = nullptr;
  uint32_t id = 0;
  /// The number of memory synchronizations of lanes in its warp.
  uint32_t step = 0;
  void *stack = nullptr;
  Copies copies;
#ifdef MP_ADDRESS_SANITIZER
  void *fakeStack = nullptr;
#endif
};

struct Queue {
  Fiber *first = nullptr, *last = nullptr;

  void append(Fiber &fiber) {
    fiber.next = nullptr;
    (last ? last->next : first) = &fiber;
    last = &fiber;
  }
  Fiber *take() {
    Fiber *fiber = first;
    if (fiber && !(first = fiber->next))
      last = nullptr;
    return fiber;
  }
  /// Adds `more` after or before all others; `more` is empty afterwards.
  void append(Queue &more);
  void prepend(Queue &more);
};

struct Barrier {
  uint32_t arrived, count, place;
  Queue waiting;
};

/// Lanes of a warp on their way to the same instruction.
struct ConvergencePoint {
  uint32_t mask, arrived, place;
  Queue waiting;
};

struct Warp {
  /// The lanes that exist, and those that have ended.
  uint32_t present, ended;
  uint32_t open;
  ConvergencePoint points[warpSize];
};

/// The state of a launch. Only one launch runs at a time.
struct Machine {
  const mp_emulated_kernel *kernel;
  void **parameters;
  mp_emulated_block block;
  uint32_t sharedBytes, dynamicShared;
  uint32_t numThreads, numWarps, ended;
  bool hasFailed;
  Fiber *current;
  /// The stack pointer of the launching thread.
  void *outside;
  Queue ready;
  Fiber fibers[maxThreads];
  Warp warps[maxThreads / warpSize];
  Barrier barriers[numBarriers];
  /// The number of fibers that have a stack and are at the begin of a block.
  uint32_t numPrepared;
  /// Barriers divide time into epochs.
  uint32_t epoch;
  mp_emulation_figures figures;
};
extern Machine machine;

inline Fiber &getFiber(mp_emulated_thread *thread) {
  return *static_cast<Fiber *>(thread);
}
inline Warp &getWarp(const Fiber &fiber) { return machine.warps[fiber.warp]; }
inline Fiber *getLanes(const Fiber &fiber) {
  return machine.fibers + fiber.warp * warpSize;
}

// Launch.cpp

/// Records an error of the launch with its block and location.
void setError(const Fiber *fiber, uint32_t place, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/// Same; also ends the launch.
[[noreturn]] void fail(Fiber &fiber, uint32_t place, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/// The text of a place, or of noPlace.
const char *getText(uint32_t place);

/// A buffer for a text about a thread.
struct ThreadName {
  explicit ThreadName(const Fiber &fiber);
  char text[48];
};

// Fibers.cpp

/// Allocates stacks for `count` threads; false if there is no memory.
bool prepareFibers(uint32_t count);
/// Runs the block's threads until each has ended or waits.
void runFibers();
/// Switches from a waiting thread to others, until it has been taken from
/// `ready`.
void yield(Fiber &fiber);
/// Switches from a thread to the launching one and never returns.
[[noreturn]] void abandon(Fiber &fiber);
/// Resets fibers that an abandoned launch has left.
void forgetFibers();

// SharedMemory.cpp

/// Returns false if there is no memory.
bool prepareShared();
/// Fills shared memory with NaNs.
void clearShared();
/// Checks that the bytes around shared memory are unchanged, else sets an
/// error.
bool checkShared();
/// Fails unless all of these bytes are in the block's shared memory.
void checkBounds(Fiber &fiber, uint32_t place, const void *data, uint64_t bytes,
                 const char *what);

// Barriers.cpp

/// Fails if others wait for a thread that ends.
void leaveBarriers(Fiber &fiber);

// Warps.cpp

/// The convergence point of the lanes of `mask`. The last lane to arrive gets
/// the point, which it must close; the others wait and get null after that.
ConvergencePoint *arrive(Fiber &fiber, uint32_t place, uint32_t mask);
void close(Fiber &fiber, ConvergencePoint &point);
/// Fails unless the warp has all its lanes.
void expectWholeWarp(Fiber &fiber, uint32_t place);
/// Fails if other lanes wait for one that ends.
void leaveWarp(Fiber &fiber);

// Copies.cpp

/// Drops open copies, which are no longer waited for.
void dropOpenCopies(Fiber &fiber);
inline void dropCopies(Fiber &fiber) {
  if (fiber.copies.count)
    dropOpenCopies(fiber);
  fiber.copies.committed = 0;
}

// Races.cpp

/// False if there is no memory.
bool prepareRaces();
/// Orders earlier accesses before later ones.
void beginEpoch();
void noteRead(Fiber &fiber, uint32_t place, const void *data, uint64_t bytes);
void noteWrite(Fiber &fiber, uint32_t place, const void *data, uint64_t bytes);
/// Records that a copy of cp.async begins, or has been made.
void noteCopy(const Fiber &fiber, const Copy &copy, bool begins);
inline bool looksForRaces() {
  return machine.kernel->flags & MP_EMULATED_CHECKED;
}

} // namespace mp::emulation

extern "C" void mp_emulation_switch(void **from, void *to);

#endif // MPOPT_LIB_EMULATION_MACHINE_H
