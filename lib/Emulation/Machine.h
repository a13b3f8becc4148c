//===- Machine.h - What the parts of the emulator share ---------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Blocks of a launch run one after the other. The threads of a block are
// fibers, each with a stack of its own: one runs until it waits for others, and
// leaves the processor to the next that can go on. Threads of a kernel that
// never meet run on the first fiber, one after the other.
//
// The emulator is linked into programs that may be written in C: of C++ it uses
// what needs no library.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_EMULATION_MACHINE_H
#define MPOPT_LIB_EMULATION_MACHINE_H

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

constexpr uint32_t warpSize = 32;
constexpr uint32_t maxThreads = 1024;
constexpr uint32_t numBarriers = 16;
/// Of Hopper, in bytes: of all shared memory, and of its static part.
constexpr uint32_t maxShared = 227 * 1024, maxStaticShared = 48 * 1024;
/// What dynamic shared memory begins at a multiple of.
constexpr uint32_t sharedAlignment = 1024;
constexpr size_t stackBytes = 128 * 1024;
/// A place that has no text.
constexpr uint32_t noPlace = ~0u;

/// What cp.async is to do when it is waited for.
struct Copy {
  char *to;
  const char *from;
  uint32_t bytes, used;
  /// Groups that the thread had committed before.
  uint32_t group, place;
};

struct Copies {
  Copy *items = nullptr;
  uint32_t count = 0, capacity = 0;
  /// Groups that are committed, and of these the first that is open.
  uint32_t committed = 0;
};

/// What a change of threads needs is in one line of the cache.
struct alignas(64) Fiber : mp_emulated_thread {
  void *stackPointer = nullptr;
  /// The next one that is ready, or waits for the same.
  Fiber *next = nullptr;
  /// Where it waits.
  uint32_t place = 0;
  bool isWaiting = false;
  /// What it brings to a meeting of its warp, and takes from it.
  uint64_t value = 0, result = 0;
  uint32_t offset = 0, clamp = 0;
  const uint32_t *in = nullptr;
  uint32_t *out = nullptr;
  const char *row = nullptr;
  uint32_t id = 0;
  /// How often lanes of its warp have synchronized memory.
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
  /// Behind all others, or in front of them; `more` is empty afterwards.
  void append(Queue &more);
  void prepend(Queue &more);
};

struct Barrier {
  uint32_t arrived, count, place;
  Queue waiting;
};

/// Lanes of a warp on their way to the same instruction.
struct Meeting {
  uint32_t mask, arrived, place;
  Queue waiting;
};

struct Warp {
  /// Lanes that there are, and those that have ended.
  uint32_t present, ended;
  uint32_t open;
  Meeting meetings[warpSize];
};

/// All of a launch, of which there is one at a time.
struct Machine {
  const mp_emulated_kernel *kernel;
  void **parameters;
  mp_emulated_block block;
  uint32_t sharedBytes, dynamicShared;
  uint32_t numThreads, numWarps, ended;
  bool hasFailed;
  Fiber *current;
  /// The stack of who launches.
  void *outside;
  Queue ready;
  Fiber fibers[maxThreads];
  Warp warps[maxThreads / warpSize];
  Barrier barriers[numBarriers];
  /// Fibers that have a stack and are at the begin of a block.
  uint32_t numPrepared;
  /// What barriers divide time into.
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

/// Says what went wrong with the launch, its block, and where.
void setError(const Fiber *fiber, uint32_t place, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/// The same; ends the launch.
[[noreturn]] void fail(Fiber &fiber, uint32_t place, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/// The text of a place, or of none.
const char *getText(uint32_t place);

/// Room for texts about a thread.
struct ThreadName {
  explicit ThreadName(const Fiber &fiber);
  char text[48];
};

// Fibers.cpp

/// Stacks for so many threads; false if there is no memory for them.
bool prepareFibers(uint32_t count);
/// Runs the block's threads until each has ended or waits.
void runFibers();
/// From a thread that waits, until `ready` has had it.
void leave(Fiber &fiber);
/// From a thread to who launches, for ever.
[[noreturn]] void abandon(Fiber &fiber);
/// Forgets what fibers were at.
void forgetFibers();

// SharedMemory.cpp

/// False if there is no memory.
bool prepareShared();
/// NaNs everywhere.
void clearShared();
/// Whether the bytes around shared memory are as they were; or an error.
bool checkShared();
/// Fails where not all of these bytes are the block's shared memory.
void checkBounds(Fiber &fiber, uint32_t place, const void *data, uint64_t bytes,
                 const char *what);

// Barriers.cpp

/// Fails if others wait for a thread that ends.
void leaveBarriers(Fiber &fiber);

// Warps.cpp

/// Where the lanes of `mask` meet: the last of them is given the meeting, which
/// it closes; the others null, when it has done so.
Meeting *meet(Fiber &fiber, uint32_t place, uint32_t mask);
void close(Fiber &fiber, Meeting &meeting);
/// Fails unless the warp has all its lanes.
void expectWholeWarp(Fiber &fiber, uint32_t place);
/// Fails if other lanes wait for one that ends.
void leaveWarp(Fiber &fiber);

// Copies.cpp

/// What is open is not waited for any more.
void dropOpenCopies(Fiber &fiber);
inline void dropCopies(Fiber &fiber) {
  if (fiber.copies.count)
    dropOpenCopies(fiber);
  fiber.copies.committed = 0;
}

// Races.cpp

/// False if there is no memory.
bool prepareRaces();
/// What was done before comes before what is done behind it.
void beginEpoch();
void noteRead(Fiber &fiber, uint32_t place, const void *data, uint64_t bytes);
void noteWrite(Fiber &fiber, uint32_t place, const void *data, uint64_t bytes);
/// A copy of cp.async begins, or has been made.
void noteCopy(const Fiber &fiber, const Copy &copy, bool begins);
inline bool looksForRaces() {
  return machine.kernel->flags & MP_EMULATED_CHECKED;
}

} // namespace mp::emulation

extern "C" void mp_emulation_switch(void **from, void *to);

#endif // MPOPT_LIB_EMULATION_MACHINE_H
