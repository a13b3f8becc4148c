//===- Barriers.cpp - Barriers of a block ---------------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Machine.h"

namespace mp::emulation {

/// Counts a thread in. Fails if it disagrees with the threads that arrived
/// before it.
static void join(Fiber &fiber, Barrier &barrier, uint32_t place,
                 uint32_t count) {
  if (!barrier.arrived) {
    barrier.count = count;
    barrier.place = place;
  } else if (barrier.count != count) {
    fail(fiber, place,
         "found a barrier of %u threads, but one of %u is what others wait at "
         "(%s)",
         count, barrier.count, getText(barrier.place));
  }
  ++barrier.arrived;
}

/// True in the last thread that the barrier waits for, which opens it.
static bool open(Fiber &fiber, Barrier &barrier) {
  if (barrier.arrived < barrier.count)
    return false;
  barrier.arrived = 0;
  ++machine.figures.barriers;
  if (looksForRaces())
    beginEpoch();
  machine.ready.append(barrier.waiting);
  return true;
}

static void wait(Fiber &fiber, Barrier &barrier, uint32_t place) {
  fiber.place = place;
  barrier.waiting.append(fiber);
  yield(fiber);
}

void leaveBarriers(Fiber &fiber) {
  Barrier &barrier = machine.barriers[0];
  if (!barrier.arrived || barrier.count < machine.numThreads)
    return;
  const Fiber *other = barrier.waiting.first;
  fail(fiber, noPlace, "ends, but %u threads wait for it at %s, %s among them",
       barrier.arrived, getText(barrier.place),
       other ? ThreadName(*other).text : "none");
}

} // namespace mp::emulation

using namespace mp::emulation;

extern "C" {

void mp_emulated_barrier(mp_emulated_thread *thread, uint32_t place) {
  Fiber &fiber = getFiber(thread);
  Barrier &barrier = machine.barriers[0];
  if (machine.ended)
    fail(fiber, place, "waits for all threads of the block, but %u have ended",
         machine.ended);
  if (barrier.arrived && barrier.place != place)
    fail(fiber, place, "waits for threads that wait elsewhere: %u at %s",
         barrier.arrived, getText(barrier.place));
  join(fiber, barrier, place, machine.numThreads);
  if (!open(fiber, barrier))
    wait(fiber, barrier, place);
}

void mp_emulated_named_barrier(mp_emulated_thread *thread, uint32_t place,
                               uint32_t id, uint32_t count, uint32_t waits) {
  Fiber &fiber = getFiber(thread);
  if (id >= numBarriers)
    fail(fiber, place, "found barrier %u, expected 0 to %u", id,
         numBarriers - 1);
  if (!count)
    count = machine.numThreads;
  else if (count % warpSize || count > machine.numWarps * warpSize)
    fail(fiber, place,
         "found a barrier of %u threads, expected a multiple of %u up to %u",
         count, warpSize, machine.numWarps * warpSize);
  if (count > machine.numThreads)
    count = machine.numThreads;
  Barrier &barrier = machine.barriers[id];
  join(fiber, barrier, place, count);
  if (!open(fiber, barrier) && waits)
    wait(fiber, barrier, place);
}

} // extern "C"
