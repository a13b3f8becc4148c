//===- Call.cpp - Calls of compiled models, and how they fail -------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LastError.h"
#include "Memory.h"

#include <csetjmp>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#ifdef __linux__
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace mp::runtime {

struct Call {
  std::jmp_buf end;
  /// The list of blocks that the call has allocated.
  Block blocks = {&blocks, &blocks, 0, 0};
  /// Outputs for which the call has allocated memory.
  void ***outputs = nullptr;
  int32_t numOutputs = 0;
  int64_t number = 0;
  /// Slots for values that calls of the model keep.
  void **kept = nullptr;
  /// Guards the blocks and the error, which any thread may report.
  Mutex mutex;
  int32_t code = MP_OK;
  const char *text = "";
  int64_t a = 0, b = 0;

  /// The number of draws from each seed.
  struct Draws {
    int64_t seed, count;
  } *draws = nullptr;
  int32_t numDraws = 0;

  int64_t count(int64_t seed);
};

/// Returns how often this call has drawn from a seed, and counts one more.
int64_t Call::count(int64_t seed) {
  for (int32_t index = 0; index < numDraws; ++index)
    if (draws[index].seed == seed)
      return draws[index].count++;
  void *room = std::realloc(draws, sizeof(Draws) * (numDraws + 1));
  if (!room)
    mp_fail(MP_OUT_OF_MEMORY, "out of memory for %0 random nodes", numDraws, 0);
  draws = static_cast<Draws *>(room);
  draws[numDraws++] = {seed, 1};
  return 0;
}

/// Scrambles numbers, so that close seeds give unrelated results (SplitMix64).
static int64_t mix(int64_t number) {
  uint64_t z = static_cast<uint64_t>(number) + 0x9E3779B97F4A7C15;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
  return static_cast<int64_t>(z ^ (z >> 31));
}

static thread_local Call *current = nullptr;
/// True for a thread of the pool, which works for a call of another thread.
static thread_local bool isWorker = false;

Call *getCurrentCall() { return current; }

void workFor(Call *call) {
  current = call;
  isWorker = true;
}

static bool isBefore(const char *text, int64_t a, int64_t b, const Call &call) {
  if (int order = std::strcmp(text, call.text))
    return order < 0;
  return a != call.a ? a < call.a : b < call.b;
}

static void unlink(Block *block) {
  block->next->previous = block->previous;
  block->previous->next = block->next;
}

/// Frees the call's remaining blocks, and all outputs if it has failed.
static void clear(Call &call) {
  while (call.blocks.next != &call.blocks) {
    Block *block = call.blocks.next;
    unlink(block);
    giveBlock(block);
  }
  for (int32_t index = 0; index < call.numOutputs; ++index)
    if (call.code != MP_OK) {
      std::free(*call.outputs[index]);
      *call.outputs[index] = nullptr;
    }
  std::free(call.outputs);
  std::free(call.draws);
}

/// Requests permission to use tile registers, which Linux requires. Models
/// compiled for them only run where it is granted.
static void askForTiles() {
#if defined(__x86_64__) && defined(__linux__)
  constexpr long requestPermission = 0x1023, tileData = 18;
  syscall(SYS_arch_prctl, requestPermission, tileData);
#endif
}

void endCall(int32_t code) {
  // The call's stack belongs to another thread.
  if (isWorker) {
    std::fprintf(stderr, "mp-opt: %s\n", getLastError());
    std::_Exit(70);
  }
  current->code = code;
  std::longjmp(current->end, 1);
}

} // namespace mp::runtime

using namespace mp::runtime;

extern "C" {

void *mp_allocate(int64_t bytes) {
  Block *block = takeBlock(bytes);
  if (!block)
    mp_fail(MP_OUT_OF_MEMORY, "out of memory: %0 bytes more were asked for",
            bytes, 0);
  Lock lock(current->mutex);
  block->next = current->blocks.next;
  block->previous = &current->blocks;
  block->next->previous = block;
  current->blocks.next = block;
  return block + 1;
}

void mp_free(void *data) {
  if (!data)
    return;
  Block *block = static_cast<Block *>(data) - 1;
  {
    Lock lock(current->mutex);
    unlink(block);
  }
  giveBlock(block);
}

void *mp_kept(int64_t slot) {
  return __atomic_load_n(&current->kept[slot], __ATOMIC_ACQUIRE);
}

void *mp_keep(int64_t slot, void *data) {
  void *found = nullptr;
  if (!__atomic_compare_exchange_n(&current->kept[slot], &found, data,
                                   /*weak=*/false, __ATOMIC_ACQ_REL,
                                   __ATOMIC_ACQUIRE)) {
    mp_free(data);
    return found;
  }
  // The end of the call is not its end.
  Lock lock(current->mutex);
  unlink(static_cast<Block *>(data) - 1);
  return data;
}

void mp_release_kept(void **kept, int64_t count) {
  for (int64_t slot = 0; slot < count; ++slot)
    if (void *data =
            __atomic_exchange_n(&kept[slot], nullptr, __ATOMIC_ACQ_REL))
      freeBlock(static_cast<Block *>(data) - 1);
}

void *mp_output(void **data, int64_t bytes) {
  if (*data)
    return *data;
  void *room = std::realloc(current->outputs,
                            sizeof(void **) * (current->numOutputs + 1));
  if (room)
    current->outputs = static_cast<void ***>(room);
  void *made = room ? allocateAligned(bytes) : nullptr;
  if (!made)
    mp_fail(MP_OUT_OF_MEMORY, "out of memory: an output takes %0 bytes", bytes,
            0);
  current->outputs[current->numOutputs++] = data;
  return *data = made;
}

void mp_check_inputs(const mp_tensor *inputs, int64_t count,
                     const int64_t *expected, const char *names) {
  for (int64_t input = 0; input < count; ++input) {
    int64_t rank = *expected++;
    for (int64_t axis = 0; axis < rank; ++axis, ++expected) {
      long long size = inputs[input].sizes[axis], wanted = *expected;
      if (wanted < 0 ? size >= 0 : size == wanted)
        continue;
      if (wanted < 0)
        refuseWith(MP_BAD_INPUT, "input '%s': size %lld of axis %lld", names,
                   size, static_cast<long long>(axis));
      else
        refuseWith(MP_BAD_INPUT,
                   "input '%s': size %lld of axis %lld, expected %lld", names,
                   size, static_cast<long long>(axis), wanted);
      endCall(MP_BAD_INPUT);
    }
    names += std::strlen(names) + 1;
  }
}

void mp_fail(int32_t code, const char *text, int64_t a, int64_t b) {
  setLastError(text, a, b);
  endCall(code);
}

void mp_report(int32_t code, const char *text, int64_t a, int64_t b) {
  Call &call = *current;
  Lock lock(call.mutex);
  if (call.code != MP_OK && !isBefore(text, a, b, call))
    return;
  call.code = code;
  call.text = text;
  call.a = a;
  call.b = b;
}

int64_t mp_draw(int64_t seed) {
  Call &call = *current;
  int64_t before = call.count(seed);
  if (call.number == 0 && before == 0)
    return seed;
  return mix(seed ^ mix(mix(call.number) + before));
}

int32_t mp_call(mp_model body, const mp_tensor *inputs, mp_tensor *outputs,
                int64_t number, void **kept) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, askForTiles);
  Call *outer = current;
  Call call;
  call.number = number;
  call.kept = kept;
  current = &call;
  clearLastError();
  if (setjmp(call.end) == 0) {
    int32_t code = body(inputs, outputs);
    if (code != MP_OK && call.code == MP_OK)
      call.code = code;
    if (call.code != MP_OK)
      setLastError(call.text, call.a, call.b);
  }
  clear(call);
  current = outer;
  return call.code;
}

} // extern "C"
