//===- Runtime.cpp - Memory and errors of compiled models -----------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Standard C++ only: what compiled models are linked with stands alone.
//
//===----------------------------------------------------------------------===//

#include "Internal.h"

#include <atomic>
#include <csetjmp>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>
#include <tuple>
#include <vector>
#ifdef __linux__
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace {

/// Allocations of a call are a list, so that a call that fails can free them.
struct alignas(64) Block {
  Block *next, *previous;
  int64_t bytes;
};

struct Call {
  std::jmp_buf end;
  Block blocks = {&blocks, &blocks, 0};
  /// Outputs that have got memory here.
  std::vector<void **> outputs;
  /// Set by mp_report, from any thread.
  std::mutex mutex;
  int32_t code = MP_OK;
  std::string text;
  int64_t a = 0, b = 0;
};

thread_local Call *current = nullptr;
/// A thread of the pool: it works for a call of another thread.
thread_local bool isWorker = false;
thread_local std::string lastError;

std::atomic<int64_t> allocated{0}, peak{0};

struct Scratch {
  void *data = nullptr;
  int64_t bytes = 0;
};

struct ScratchSlots {
  Scratch slots[4];
  ~ScratchSlots() {
    for (Scratch &slot : slots)
      std::free(slot.data);
  }
};

thread_local ScratchSlots scratch;

void *allocateAligned(int64_t bytes) {
  if (bytes < 0 || bytes > INT64_MAX / 2)
    return nullptr;
  size_t rounded = (static_cast<size_t>(bytes) + 63) / 64 * 64;
  return std::aligned_alloc(64, rounded ? rounded : 64);
}

void count(int64_t bytes) {
  int64_t now = allocated += bytes;
  int64_t most = peak;
  while (now > most && !peak.compare_exchange_weak(most, now))
    ;
}

/// Big blocks that were freed, for calls to come: a model asks for the same
/// sizes in each call, and new memory costs a page fault for every page.
class BlockCache {
public:
  ~BlockCache() {
    for (Block *block : blocks)
      std::free(block);
  }

  Block *take(int64_t bytes) {
    if (bytes < least)
      return nullptr;
    std::lock_guard<std::mutex> lock(mutex);
    for (size_t index = blocks.size(); index-- > 0;)
      if (blocks[index]->bytes == bytes) {
        Block *block = blocks[index];
        blocks.erase(blocks.begin() + index);
        return block;
      }
    return nullptr;
  }

  void give(Block *block) {
    if (block->bytes < least) {
      std::free(block);
      return;
    }
    std::lock_guard<std::mutex> lock(mutex);
    blocks.push_back(block);
    if (blocks.size() > most) {
      std::free(blocks.front());
      blocks.erase(blocks.begin());
    }
  }

private:
  static constexpr int64_t least = 65536;
  static constexpr size_t most = 32;
  std::mutex mutex;
  std::vector<Block *> blocks;
};

BlockCache cache;

/// `%0` and `%1` stand for the numbers.
std::string format(const char *text, int64_t a, int64_t b) {
  std::string result;
  for (; *text; ++text) {
    if (*text == '%' && (text[1] == '0' || text[1] == '1'))
      result += std::to_string(*++text == '0' ? a : b);
    else
      result += *text;
  }
  return result;
}

void release(Call &call) {
  while (call.blocks.next != &call.blocks) {
    Block *block = call.blocks.next;
    call.blocks.next = block->next;
    count(-block->bytes);
    cache.give(block);
  }
}

} // namespace

extern "C" {

const char *mp_last_error(void) { return lastError.c_str(); }

void mp_release(void *data) { std::free(data); }

int64_t mp_peak_bytes(void) { return peak; }
void mp_reset_peak(void) { peak = allocated.load(); }

void *mp_allocate(int64_t bytes) {
  Block *block = cache.take(bytes);
  if (!block && bytes >= 0 && bytes < INT64_MAX / 2)
    block = static_cast<Block *>(allocateAligned(bytes + sizeof(Block)));
  if (!block)
    mp_fail(MP_OUT_OF_MEMORY, "out of memory: %0 bytes more were asked for",
            bytes, 0);
  block->bytes = bytes;
  std::lock_guard<std::mutex> lock(current->mutex);
  block->next = current->blocks.next;
  block->previous = &current->blocks;
  block->next->previous = block;
  current->blocks.next = block;
  count(bytes);
  return block + 1;
}

void mp_free(void *data) {
  if (!data)
    return;
  Block *block = static_cast<Block *>(data) - 1;
  {
    std::lock_guard<std::mutex> lock(current->mutex);
    block->next->previous = block->previous;
    block->previous->next = block->next;
  }
  count(-block->bytes);
  cache.give(block);
}

void *mp_output(void **data, int64_t bytes) {
  if (*data)
    return *data;
  void *made = allocateAligned(bytes);
  if (!made)
    mp_fail(MP_OUT_OF_MEMORY, "out of memory: an output takes %0 bytes", bytes,
            0);
  current->outputs.push_back(data);
  return *data = made;
}

void *mp_scratch(int32_t slot, int64_t bytes) {
  Scratch &mine = scratch.slots[slot];
  if (mine.bytes < bytes) {
    std::free(mine.data);
    mine.data = allocateAligned(bytes);
    mine.bytes = bytes;
    // No call can be ended from here, and there is nothing to go on with.
    if (!mine.data) {
      std::fputs("mp-opt: out of memory for the scratch of a thread\n", stderr);
      std::_Exit(70);
    }
  }
  return mine.data;
}

void mp_fail(int32_t code, const char *text, int64_t a, int64_t b) {
  lastError = format(text, a, b);
  // The call's stack is another thread's.
  if (isWorker) {
    std::fprintf(stderr, "mp-opt: %s\n", lastError.c_str());
    std::_Exit(70);
  }
  current->code = code;
  std::longjmp(current->end, 1);
}

void *mp_current_call(void) { return current; }
void mp_set_current_call(void *call) {
  current = static_cast<Call *>(call);
  isWorker = true;
}

void mp_report(int32_t code, const char *text, int64_t a, int64_t b) {
  std::lock_guard<std::mutex> lock(current->mutex);
  auto order = [](const std::string &text, int64_t a, int64_t b) {
    return std::make_tuple(text, a, b);
  };
  if (current->code != MP_OK &&
      order(text, a, b) >= order(current->text, current->a, current->b))
    return;
  current->code = code;
  current->text = text;
  current->a = a;
  current->b = b;
}

/// Linux lets a process use tile registers after it has asked for them. A model
/// that was compiled for them runs only where this is granted.
static bool askForTiles() {
#if defined(__x86_64__) && defined(__linux__)
  constexpr long requestPermission = 0x1023, tileData = 18;
  return syscall(SYS_arch_prctl, requestPermission, tileData) == 0;
#else
  return false;
#endif
}

int32_t mp_call(int32_t (*body)(const mp_tensor *, mp_tensor *),
                const mp_tensor *inputs, mp_tensor *outputs) {
  static const bool hasTiles = askForTiles();
  (void)hasTiles;
  Call *outer = current;
  Call call;
  current = &call;
  lastError.clear();
  if (setjmp(call.end) == 0) {
    int32_t code = body(inputs, outputs);
    if (code != MP_OK && call.code == MP_OK)
      call.code = code;
    if (call.code != MP_OK)
      lastError = format(call.text.c_str(), call.a, call.b);
  }
  release(call);
  if (call.code != MP_OK)
    for (void **output : call.outputs) {
      std::free(*output);
      *output = nullptr;
    }
  current = outer;
  return call.code;
}

} // extern "C"
