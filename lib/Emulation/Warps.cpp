//===- Warps.cpp - Operations of a warp -----------------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each lane provides its operands, and the last one to arrive computes for all.
// Lanes may be at different instructions, unless they wait for each other.
//
//===----------------------------------------------------------------------===//

#include "Machine.h"

namespace mp::emulation {

/// The lanes of `mask` that exist, including this one.
static uint32_t checkMask(Fiber &fiber, uint32_t place, uint32_t mask) {
  const Warp &warp = getWarp(fiber);
  if (!(mask >> fiber.lane & 1))
    fail(fiber, place, "found mask 0x%08x, which lane %u is not in", mask,
         fiber.lane);
  mask &= warp.present;
  if (mask & warp.ended)
    fail(fiber, place, "found mask 0x%08x, of which lanes 0x%08x have ended",
         mask, mask & warp.ended);
  return mask;
}

/// The open convergence point of these lanes, or a new one. Lanes that are at
/// another place may arrive later, unless they wait there for this lane.
static ConvergencePoint &find(Fiber &fiber, uint32_t place, uint32_t mask) {
  Warp &warp = getWarp(fiber);
  ConvergencePoint *found = nullptr;
  for (uint32_t index = 0; index < warp.open; ++index) {
    ConvergencePoint &point = warp.points[index];
    if (point.mask == mask && point.place == place)
      found = &point;
    else if (point.arrived & mask && point.mask >> fiber.lane & 1)
      fail(fiber, place,
           "found mask 0x%08x, but lanes 0x%08x wait at %s with mask 0x%08x",
           mask, point.arrived, getText(point.place), point.mask);
  }
  if (found)
    return *found;
  ConvergencePoint &point = warp.points[warp.open++];
  point = ConvergencePoint();
  point.mask = mask;
  point.place = place;
  return point;
}

ConvergencePoint *arrive(Fiber &fiber, uint32_t place, uint32_t mask) {
  mask = checkMask(fiber, place, mask);
  ConvergencePoint &point = find(fiber, place, mask);
  point.arrived |= 1u << fiber.lane;
  if (point.arrived == point.mask)
    return &point;
  fiber.place = place;
  point.waiting.append(fiber);
  yield(fiber);
  return nullptr;
}

void close(Fiber &fiber, ConvergencePoint &point) {
  // These fibers resume first, since their stacks are likely in the cache.
  machine.ready.prepend(point.waiting);
  ++machine.figures.collectives;
  Warp &warp = getWarp(fiber);
  ConvergencePoint &last = warp.points[--warp.open];
  if (&last != &point)
    point = last;
}

void expectWholeWarp(Fiber &fiber, uint32_t place) {
  uint32_t present = getWarp(fiber).present;
  if (present != ~0u)
    fail(fiber, place, "needs all lanes of a warp, found 0x%08x", present);
}

void leaveWarp(Fiber &fiber) {
  Warp &warp = getWarp(fiber);
  for (uint32_t index = 0; index < warp.open; ++index) {
    const ConvergencePoint &point = warp.points[index];
    if (point.mask >> fiber.lane & 1)
      fail(fiber, noPlace, "ends, but lanes 0x%08x wait for it at %s",
           point.arrived, getText(point.place));
  }
  warp.ended |= 1u << fiber.lane;
}

/// Calls `compute` with the lanes of `mask` when all have arrived. Returns the
/// value that it has written to this lane's `result`.
template <typename Compute>
static uint64_t converge(Fiber &fiber, uint32_t place, uint32_t mask,
                         Compute compute) {
  if (ConvergencePoint *point = arrive(fiber, place, mask)) {
    compute(getLanes(fiber), point->mask);
    close(fiber, *point);
  }
  return fiber.result;
}

template <typename Visit> static void forEachLane(uint32_t mask, Visit visit) {
  for (; mask; mask &= mask - 1)
    visit(static_cast<uint32_t>(__builtin_ctz(mask)));
}

//===----------------------------------------------------------------------===//
// Computation
//===----------------------------------------------------------------------===//

/// The lane that `lane` reads, and in bit 32 if it is in range. Names are those
/// of the PTX manual; `clamp` is the operand c.
static uint64_t findSource(uint32_t kind, uint32_t lane, uint32_t offset,
                           uint32_t clamp) {
  uint32_t segment = clamp >> 8 & 31, bound = clamp & 31;
  uint32_t first = lane & segment, last = first | (bound & ~segment & 31);
  uint32_t by = offset & 31;
  uint32_t source = lane ^ by;
  bool isInside = source <= last;
  if (kind == 1) {
    isInside = static_cast<int32_t>(lane - by) >= static_cast<int32_t>(last);
    source = lane - by;
  } else if (kind == 2) {
    source = lane + by;
    isInside = source <= last;
  } else if (kind == 3) {
    source = first | (by & ~segment & 31);
    isInside = source <= last;
  }
  return (isInside ? source : lane) | uint64_t(isInside) << 32;
}

static void shuffle(Fiber *lanes, uint32_t mask, uint32_t kind) {
  forEachLane(mask, [&](uint32_t lane) {
    Fiber &fiber = lanes[lane];
    uint64_t source = findSource(kind, lane, fiber.offset, fiber.clamp);
    uint32_t from = static_cast<uint32_t>(source);
    // The value read from a lane that does not participate is undefined.
    uint32_t value =
        mask >> from & 1 ? static_cast<uint32_t>(lanes[from].value) : ~0u;
    fiber.result = value | (source >> 32 << 32);
  });
}

static void vote(Fiber *lanes, uint32_t mask, uint32_t kind) {
  uint32_t ballot = 0;
  forEachLane(mask, [&](uint32_t lane) {
    ballot |= static_cast<uint32_t>(lanes[lane].value != 0) << lane;
  });
  uint32_t results[4] = {ballot != 0, ballot == mask, ballot,
                         ballot == mask || !ballot};
  forEachLane(mask,
              [&](uint32_t lane) { lanes[lane].result = results[kind & 3]; });
}

static uint32_t combine(uint32_t kind, uint32_t a, uint32_t b) {
  int32_t x = static_cast<int32_t>(a), y = static_cast<int32_t>(b);
  switch (kind) {
  case 1:
    return a + b;
  case 2:
    return a & b;
  case 3:
    return x > y ? a : b;
  case 4:
    return x < y ? a : b;
  case 5:
    return a | b;
  case 6:
    return a > b ? a : b;
  case 7:
    return a < b ? a : b;
  default:
    return a ^ b;
  }
}

static void reduce(Fiber *lanes, uint32_t mask, uint32_t kind) {
  uint32_t first = static_cast<uint32_t>(__builtin_ctz(mask));
  uint32_t result = static_cast<uint32_t>(lanes[first].value);
  forEachLane(mask & (mask - 1), [&](uint32_t lane) {
    result = combine(kind, result, static_cast<uint32_t>(lanes[lane].value));
  });
  forEachLane(mask, [&](uint32_t lane) { lanes[lane].result = result; });
}

static void match(Fiber *lanes, uint32_t mask, uint32_t kind) {
  forEachLane(mask, [&](uint32_t lane) {
    uint32_t equal = 0;
    forEachLane(mask, [&](uint32_t other) {
      equal |= static_cast<uint32_t>(lanes[other].value == lanes[lane].value)
               << other;
    });
    uint64_t all = equal == mask ? equal | uint64_t(1) << 32 : 0;
    lanes[lane].result = kind ? all : equal;
  });
}

/// Makes earlier accesses of all lanes visible after this point.
static void synchronize(Fiber *lanes, uint32_t mask) {
  uint32_t step = 0;
  forEachLane(mask, [&](uint32_t lane) {
    step = step > lanes[lane].step ? step : lanes[lane].step;
  });
  forEachLane(mask, [&](uint32_t lane) { lanes[lane].step = step + 1; });
}

} // namespace mp::emulation

using namespace mp::emulation;

extern "C" {

void mp_emulated_sync_warp(mp_emulated_thread *thread, uint32_t place,
                           uint32_t mask) {
  converge(getFiber(thread), place, mask, synchronize);
}

uint64_t mp_emulated_shuffle(mp_emulated_thread *thread, uint32_t place,
                             uint32_t kind, uint32_t mask, uint32_t value,
                             uint32_t offset, uint32_t clamp) {
  Fiber &fiber = getFiber(thread);
  fiber.value = value;
  fiber.offset = offset;
  fiber.clamp = clamp;
  return converge(fiber, place, mask, [&](Fiber *lanes, uint32_t present) {
    shuffle(lanes, present, kind);
  });
}

uint32_t mp_emulated_vote(mp_emulated_thread *thread, uint32_t place,
                          uint32_t kind, uint32_t mask, uint32_t predicate) {
  Fiber &fiber = getFiber(thread);
  fiber.value = predicate;
  auto compute = [&](Fiber *lanes, uint32_t present) {
    vote(lanes, present, kind);
  };
  return static_cast<uint32_t>(converge(fiber, place, mask, compute));
}

uint32_t mp_emulated_reduce(mp_emulated_thread *thread, uint32_t place,
                            uint32_t kind, uint32_t mask, uint32_t value) {
  Fiber &fiber = getFiber(thread);
  fiber.value = value;
  auto compute = [&](Fiber *lanes, uint32_t present) {
    reduce(lanes, present, kind);
  };
  return static_cast<uint32_t>(converge(fiber, place, mask, compute));
}

uint64_t mp_emulated_match(mp_emulated_thread *thread, uint32_t place,
                           uint32_t kind, uint32_t mask, uint64_t value) {
  Fiber &fiber = getFiber(thread);
  fiber.value = value;
  return converge(fiber, place, mask, [&](Fiber *lanes, uint32_t present) {
    match(lanes, present, kind);
  });
}

uint32_t mp_emulated_elect(mp_emulated_thread *thread, uint32_t place,
                           uint32_t mask) {
  auto compute = [](Fiber *lanes, uint32_t present) {
    forEachLane(present, [&](uint32_t lane) {
      lanes[lane].result = !(present & ((1u << lane) - 1));
    });
  };
  return static_cast<uint32_t>(
      converge(getFiber(thread), place, mask, compute));
}

} // extern "C"
