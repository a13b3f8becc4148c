//===- Races.cpp - Who writes what others use -----------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For each byte of shared memory: who has written it last, who has read it, and
// when. Barriers divide the time of a block into epochs, bar.warp.sync that of
// a warp into steps. Two threads' accesses in one epoch, one of them a write,
// are a race, unless they are of one warp and the later has a greater step. It
// is found whatever the order is in which the threads run here.
//
// What cp.async writes may be used by nobody until its thread has waited for
// it.
//
// A barrier of some of the threads counts as one of all, and a bar.warp.sync of
// some lanes as one of those with fewer steps: a race can hide behind these,
// but none is reported that is not there. Atomics are not looked at.
//
//===----------------------------------------------------------------------===//

#include "Machine.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace mp::emulation {

namespace {

/// Stands for all lanes of a warp, or with all bits for any thread.
constexpr uint32_t severalOfWarp = 0x80000000, anybody = ~0u;

struct Access {
  uint32_t epoch, step, thread, place;
};
struct Byte {
  Access write, read;
  /// Of a copy that nobody has waited for: the number of its thread, and 1.
  uint32_t copying, copyPlace;
};
Byte *bytes = nullptr;
/// Behind static memory is where dynamic memory begins, at a round number.
constexpr uint64_t numBytes = maxShared + sharedAlignment;

bool isOfWarp(const Access &access, uint32_t warp) {
  if (access.thread == anybody)
    return false;
  if (access.thread & severalOfWarp)
    return (access.thread & ~severalOfWarp) == warp;
  return access.thread / warpSize == warp;
}

/// Whether it comes before what the thread does now.
bool isBefore(const Access &access, const Fiber &fiber) {
  if (access.epoch != machine.epoch)
    return true;
  return isOfWarp(access, fiber.warp) && access.step < fiber.step;
}

bool isRace(const Access &access, const Fiber &fiber) {
  return access.thread != fiber.id && !isBefore(access, fiber);
}

/// `number`: of the block; a kernel without meetings has one fiber for all.
void nameThread(char *text, size_t bytes, uint32_t number) {
  const uint32_t *size = machine.block.ntid;
  if (number >= maxThreads)
    snprintf(text, bytes, "several threads");
  else
    snprintf(text, bytes, "thread (%u, %u, %u)", number % size[0],
             number / size[0] % size[1], number / size[0] / size[1]);
}

[[noreturn]] void report(Fiber &fiber, uint32_t place, const Access &other,
                         uint64_t byte, const char *what,
                         const char *otherWhat) {
  char name[48];
  nameThread(name, sizeof(name), other.thread);
  fail(fiber, place,
       "race: %s byte %llu of shared memory, which was %s by %s at %s without "
       "a barrier between",
       what, static_cast<unsigned long long>(byte), otherWhat, name,
       getText(other.place));
}

void checkCopy(Fiber &fiber, uint32_t place, const Byte *byte,
               const char *what) {
  if (!byte->copying)
    return;
  char name[48];
  nameThread(name, sizeof(name), byte->copying - 1);
  fail(fiber, place,
       "race: %s byte %llu of shared memory, to which %s copies at %s and has "
       "not waited",
       what, static_cast<unsigned long long>(byte - bytes), name,
       getText(byte->copyPlace));
}

void add(Access &access, const Fiber &fiber, uint32_t place) {
  Access own = {machine.epoch, fiber.step, fiber.id, place};
  if (isBefore(access, fiber) || access.thread == fiber.id) {
    access = own;
    return;
  }
  // Others have read it, too.
  access.thread =
      isOfWarp(access, fiber.warp) ? severalOfWarp | fiber.warp : anybody;
  access.step = access.step > fiber.step ? access.step : fiber.step;
}

Byte *getBytes(Fiber &fiber, uint32_t place, const void *data, uint64_t count,
               const char *what) {
  checkBounds(fiber, place, data, count, what);
  return bytes + (static_cast<const char *>(data) -
                  static_cast<const char *>(machine.block.shared));
}

__attribute__((destructor)) void freeBytes() {
  free(bytes);
  bytes = nullptr;
}

} // namespace

bool prepareRaces() {
  if (!bytes && looksForRaces())
    bytes = static_cast<Byte *>(calloc(numBytes, sizeof(Byte)));
  return bytes || !looksForRaces();
}

void beginEpoch() {
  if (!++machine.epoch) {
    memset(bytes, 0, numBytes * sizeof(Byte));
    ++machine.epoch;
  }
}

void noteRead(Fiber &fiber, uint32_t place, const void *data, uint64_t count) {
  Byte *byte = getBytes(fiber, place, data, count, "reads");
  for (uint64_t index = 0; index < count; ++index, ++byte) {
    checkCopy(fiber, place, byte, "reads");
    if (isRace(byte->write, fiber))
      report(fiber, place, byte->write, byte - bytes, "reads", "written");
    add(byte->read, fiber, place);
  }
}

void noteWrite(Fiber &fiber, uint32_t place, const void *data, uint64_t count) {
  Byte *byte = getBytes(fiber, place, data, count, "writes");
  for (uint64_t index = 0; index < count; ++index, ++byte) {
    checkCopy(fiber, place, byte, "writes");
    if (isRace(byte->write, fiber))
      report(fiber, place, byte->write, byte - bytes, "writes", "written");
    if (isRace(byte->read, fiber))
      report(fiber, place, byte->read, byte - bytes, "writes", "read");
    byte->write = {machine.epoch, fiber.step, fiber.id, place};
  }
}

void noteCopy(const Fiber &fiber, const Copy &copy, bool begins) {
  Byte *byte = bytes + (copy.to - static_cast<char *>(machine.block.shared));
  for (uint32_t index = 0; index < copy.bytes; ++index, ++byte) {
    byte->copying = begins ? fiber.id + 1 : 0;
    byte->copyPlace = copy.place;
  }
}

} // namespace mp::emulation

using namespace mp::emulation;

extern "C" {

void mp_emulated_read(mp_emulated_thread *thread, uint32_t place,
                      const void *data, uint64_t bytes) {
  noteRead(getFiber(thread), place, data, bytes);
}

void mp_emulated_write(mp_emulated_thread *thread, uint32_t place,
                       const void *data, uint64_t bytes) {
  noteWrite(getFiber(thread), place, data, bytes);
}

} // extern "C"
