//===- Races.cpp - Detects races in shared memory -------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For each byte of shared memory, or word if it is accessed as a whole, the
// emulator records the last writer, the readers, and their times. Barriers
// divide the time of a block into epochs, bar.warp.sync that of a warp into
// steps. Accesses of two threads in one epoch, at least one of them a write,
// are a race, unless both threads are in one warp and the later access has a
// greater step. Races are found for any order in which the emulator runs the
// threads.
//
// Bytes written by cp.async may not be accessed by any thread until its own
// thread has waited for it.
//
// A barrier of some threads counts as one of all threads, and a bar.warp.sync
// of some lanes as one of all lanes with fewer steps. Races can be missed
// because of that, but no false race is reported. Atomics are not checked.
//
//===----------------------------------------------------------------------===//

#include "Machine.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace mp::emulation {

namespace {

/// Represents all lanes of a warp, or with all bits any thread.
constexpr uint32_t severalOfWarp = 0x80000000, anybody = ~0u;

struct Access {
  uint32_t epoch, step, thread, place;
};
struct Uses {
  Access write, read;
};
/// Four bytes, which most accesses use as a whole.
struct Word {
  Uses whole;
  /// The epoch in which its bytes are recorded separately. Accesses from
  /// earlier epochs do not matter then.
  uint32_t split;
  /// For a copy that is not waited for yet: the number of its thread plus 1.
  uint32_t copying, copyPlace;
};
constexpr uint64_t wordBytes = 4;
Word *words = nullptr;
/// The bytes of split words.
Uses *bytes = nullptr;
/// Dynamic memory follows static memory at an aligned offset.
constexpr uint64_t numBytes = maxShared + sharedAlignment,
                   numWords = numBytes / wordBytes;

bool isOfWarp(const Access &access, uint32_t warp) {
  if (access.thread == anybody)
    return false;
  if (access.thread & severalOfWarp)
    return (access.thread & ~severalOfWarp) == warp;
  return access.thread / warpSize == warp;
}

/// True if the access is ordered before the current access of the thread.
bool isBefore(const Access &access, const Fiber &fiber) {
  if (access.epoch != machine.epoch)
    return true;
  return isOfWarp(access, fiber.warp) && access.step < fiber.step;
}

bool isRace(const Access &access, const Fiber &fiber) {
  return access.thread != fiber.id && !isBefore(access, fiber);
}

/// `number` is the thread's number in the block; kernels without
/// synchronization share one fiber.
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

void checkCopy(Fiber &fiber, uint32_t place, uint64_t word, const char *what) {
  if (!words[word].copying)
    return;
  char name[48];
  nameThread(name, sizeof(name), words[word].copying - 1);
  fail(fiber, place,
       "race: %s byte %llu of shared memory, to which %s copies at %s and has "
       "not waited",
       what, static_cast<unsigned long long>(word * wordBytes), name,
       getText(words[word].copyPlace));
}

void add(Access &access, const Fiber &fiber, uint32_t place) {
  if (access.thread == anybody && access.epoch == machine.epoch)
    return;
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

void note(Fiber &fiber, uint32_t place, Uses &uses, uint64_t byte,
          bool isWrite) {
  const char *what = isWrite ? "writes" : "reads";
  if (isRace(uses.write, fiber))
    report(fiber, place, uses.write, byte, what, "written");
  if (!isWrite)
    return add(uses.read, fiber, place);
  if (isRace(uses.read, fiber))
    report(fiber, place, uses.read, byte, what, "read");
  uses.write = {machine.epoch, fiber.step, fiber.id, place};
}

/// Records accesses to the word by bytes from here on, within this epoch.
void split(uint64_t word) {
  if (words[word].split == machine.epoch)
    return;
  words[word].split = machine.epoch;
  for (uint64_t index = 0; index < wordBytes; ++index)
    bytes[word * wordBytes + index] = words[word].whole;
}

void note(Fiber &fiber, uint32_t place, const void *data, uint64_t count,
          bool isWrite) {
  const char *what = isWrite ? "writes" : "reads";
  checkBounds(fiber, place, data, count, what);
  if (!looksForRaces())
    return;
  uint64_t byte = static_cast<const char *>(data) -
                  static_cast<const char *>(machine.block.shared);
  for (uint64_t end = byte + count; byte < end;) {
    uint64_t word = byte / wordBytes;
    checkCopy(fiber, place, word, what);
    bool isWhole = byte % wordBytes == 0 && end - byte >= wordBytes;
    if (isWhole && words[word].split != machine.epoch) {
      note(fiber, place, words[word].whole, byte, isWrite);
      byte += wordBytes;
      continue;
    }
    split(word);
    note(fiber, place, bytes[byte], byte, isWrite);
    ++byte;
  }
}

__attribute__((destructor)) void freeBytes() {
  free(words);
  free(bytes);
  words = nullptr;
  bytes = nullptr;
}

} // namespace

bool prepareRaces() {
  if (!looksForRaces())
    return true;
  if (!words)
    words = static_cast<Word *>(calloc(numWords, sizeof(Word)));
  if (!bytes)
    bytes = static_cast<Uses *>(calloc(numBytes, sizeof(Uses)));
  return words && bytes;
}

void beginEpoch() {
  if (!++machine.epoch) {
    memset(words, 0, numWords * sizeof(Word));
    ++machine.epoch;
  }
}

void noteRead(Fiber &fiber, uint32_t place, const void *data, uint64_t count) {
  note(fiber, place, data, count, /*isWrite=*/false);
}

void noteWrite(Fiber &fiber, uint32_t place, const void *data, uint64_t count) {
  note(fiber, place, data, count, /*isWrite=*/true);
}

/// Copies always cover whole words; others are errors.
void noteCopy(const Fiber &fiber, const Copy &copy, bool begins) {
  uint64_t first =
      (copy.to - static_cast<char *>(machine.block.shared)) / wordBytes;
  for (uint64_t word = first; word < first + copy.bytes / wordBytes; ++word) {
    words[word].copying = begins ? fiber.id + 1 : 0;
    words[word].copyPlace = copy.place;
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
