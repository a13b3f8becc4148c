//===- Copies.cpp - Asynchronous copies -----------------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A copy of cp.async is made when its thread waits for it: a thread that does
// not wait reads the old content. For races it counts as a write from its begin
// on.
//
//===----------------------------------------------------------------------===//

#include "Machine.h"

#include <cstdlib>
#include <cstring>

namespace mp::emulation {

static Copy &addCopy(Fiber &fiber, uint32_t place) {
  Copies &copies = fiber.copies;
  if (copies.count == copies.capacity) {
    uint32_t capacity = copies.capacity ? 2 * copies.capacity : 16;
    void *items = realloc(copies.items, capacity * sizeof(Copy));
    if (!items)
      fail(fiber, place, "out of memory");
    copies.items = static_cast<Copy *>(items);
    copies.capacity = capacity;
  }
  return copies.items[copies.count++];
}

static void make(Fiber &fiber, const Copy &copy) {
  if (looksForRaces()) {
    noteCopy(fiber, copy, /*begins=*/false);
    noteWrite(fiber, copy.place, copy.to, copy.bytes);
  }
  memcpy(copy.to, copy.from, copy.used);
  memset(copy.to + copy.used, 0, copy.bytes - copy.used);
}

void dropOpenCopies(Fiber &fiber) {
  for (uint32_t index = 0; looksForRaces() && index < fiber.copies.count;
       ++index)
    noteCopy(fiber, fiber.copies.items[index], /*begins=*/false);
  fiber.copies.count = 0;
}

/// The operating system would free this memory; leak checkers expect it to be
/// freed.
__attribute__((destructor)) static void freeCopies() {
  for (Fiber &fiber : machine.fibers) {
    free(fiber.copies.items);
    fiber.copies = Copies();
  }
}

} // namespace mp::emulation

using namespace mp::emulation;

extern "C" {

void mp_emulated_copy(mp_emulated_thread *thread, uint32_t place, void *to,
                      const void *from, uint32_t bytes, uint32_t used) {
  Fiber &fiber = getFiber(thread);
  if (reinterpret_cast<uintptr_t>(to) % bytes ||
      reinterpret_cast<uintptr_t>(from) % bytes)
    fail(fiber, place,
         "found a copy of %u bytes from %p to %p, expected multiples of %u",
         bytes, from, to, bytes);
  if (used > bytes)
    fail(fiber, place, "found a copy of %u bytes that reads %u", bytes, used);
  checkBounds(fiber, place, to, bytes, "writes");
  if (looksForRaces())
    noteWrite(fiber, place, to, bytes);
  Copy &copy = addCopy(fiber, place);
  copy.to = static_cast<char *>(to);
  copy.from = static_cast<const char *>(from);
  copy.bytes = bytes;
  copy.used = used;
  copy.group = fiber.copies.committed;
  copy.place = place;
  if (looksForRaces())
    noteCopy(fiber, copy, /*begins=*/true);
}

void mp_emulated_commit(mp_emulated_thread *thread) {
  ++getFiber(thread).copies.committed;
}

void mp_emulated_wait(mp_emulated_thread *thread, uint32_t place,
                      uint32_t count) {
  Fiber &fiber = getFiber(thread);
  Copies &copies = fiber.copies;
  if (copies.committed <= count)
    return;
  uint32_t end = copies.committed - count, made = 0;
  while (made < copies.count && copies.items[made].group < end)
    make(fiber, copies.items[made++]);
  copies.count -= made;
  memmove(copies.items, copies.items + made, copies.count * sizeof(Copy));
}

} // extern "C"
