//===- Memory.cpp - Memory of compiled models -----------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Memory.h"

#include <atomic>
#include <cstdio>
#include <cstdlib>

using namespace mp::runtime;

namespace {

std::atomic<int64_t> allocated{0}, peak{0};

void count(int64_t bytes) {
  int64_t now = allocated += bytes;
  int64_t most = peak;
  while (now > most && !peak.compare_exchange_weak(most, now))
    ;
}

/// Keeps big freed blocks for later calls: a model requests the same sizes in
/// each call, and new memory costs a page fault per page. A block also serves
/// requests of a quarter of its size or more, and is replaced by a bigger one,
/// since consecutive kernels share their workspace.
class BlockCache {
public:
  void clear() {
    while (number > 0)
      std::free(blocks[--number]);
  }

  Block *take(int64_t bytes) {
    if (bytes < least)
      return nullptr;
    Lock lock(mutex);
    int32_t fitting = -1, lesser = -1;
    for (int32_t index = number; index-- > 0;) {
      int64_t room = blocks[index]->room;
      if (room / share > bytes || bytes / share > room)
        continue;
      int32_t &best = room < bytes ? lesser : fitting;
      if (best < 0 || (room < bytes) == (room > blocks[best]->room))
        best = index;
    }
    if (fitting < 0 && lesser < 0)
      return nullptr;
    Block *block = blocks[fitting < 0 ? lesser : fitting];
    remove(fitting < 0 ? lesser : fitting);
    if (fitting >= 0)
      return block;
    std::free(block);
    return nullptr;
  }

  void give(Block *block) {
    if (block->room < least) {
      std::free(block);
      return;
    }
    Lock lock(mutex);
    if (number == most) {
      std::free(blocks[0]);
      remove(0);
    }
    blocks[number++] = block;
  }

private:
  void remove(int32_t index) {
    for (--number; index < number; ++index)
      blocks[index] = blocks[index + 1];
  }

  static constexpr int64_t least = 65536, share = 4;
  static constexpr int32_t most = 32;
  Mutex mutex;
  Block *blocks[most] = {};
  int32_t number = 0;
};

BlockCache cache;

/// A thread's memory that is kept between calls.
struct Scratch {
  struct Slot {
    void *data;
    int64_t bytes;
  } slots[4];
};

thread_local Scratch *scratch = nullptr;
pthread_key_t scratchKey;
pthread_once_t scratchOnce = PTHREAD_ONCE_INIT;

void freeScratch(void *mine) {
  for (Scratch::Slot &slot : static_cast<Scratch *>(mine)->slots)
    std::free(slot.data);
  std::free(mine);
}

/// Ends the process if there is no memory: a call cannot be ended from a thread
/// of the pool, and the thread cannot continue.
void *demand(void *memory) {
  if (!memory) {
    std::fputs("mp-opt: out of memory for the scratch of a thread\n", stderr);
    std::_Exit(70);
  }
  return memory;
}

Scratch &getScratch() {
  if (!scratch) {
    pthread_once(&scratchOnce,
                 [] { pthread_key_create(&scratchKey, freeScratch); });
    scratch = static_cast<Scratch *>(demand(std::calloc(1, sizeof(Scratch))));
    pthread_setspecific(scratchKey, scratch);
  }
  return *scratch;
}

/// Destructors of thread-specific keys run when threads end, except for the
/// main thread.
__attribute__((destructor)) void freeAll() {
  cache.clear();
  if (!scratch)
    return;
  pthread_key_delete(scratchKey);
  freeScratch(scratch);
  scratch = nullptr;
}

} // namespace

namespace mp::runtime {

void *allocateAligned(int64_t bytes) {
  if (bytes < 0 || bytes > INT64_MAX / 2)
    return nullptr;
  size_t rounded = (static_cast<size_t>(bytes) + 63) / 64 * 64;
  return std::aligned_alloc(64, rounded ? rounded : 64);
}

Block *takeBlock(int64_t bytes) {
  Block *block = cache.take(bytes);
  if (!block && bytes >= 0 && bytes < INT64_MAX / 2) {
    block = static_cast<Block *>(allocateAligned(bytes + sizeof(Block)));
    if (block)
      block->room = bytes;
  }
  if (!block)
    return nullptr;
  block->bytes = bytes;
  count(bytes);
  return block;
}

void giveBlock(Block *block) {
  count(-block->bytes);
  cache.give(block);
}

void freeBlock(Block *block) {
  count(-block->bytes);
  std::free(block);
}

} // namespace mp::runtime

extern "C" {

void mp_release(void *data) { std::free(data); }

int64_t mp_peak_bytes(void) { return peak; }
void mp_reset_peak(void) { peak = allocated.load(); }

void *mp_scratch(int32_t number, int64_t bytes) {
  Scratch::Slot &slot = getScratch().slots[number];
  if (slot.bytes < bytes) {
    std::free(slot.data);
    slot.data = demand(allocateAligned(bytes));
    slot.bytes = bytes;
  }
  return slot.data;
}

} // extern "C"
