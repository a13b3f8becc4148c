//===- Pool.cpp - The threads of compiled models --------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Threads take ranges of a loop from a common counter until none is left. What
// a range computes does not depend on who takes it, so results are the same
// for any number of threads. Between loops threads spin for a moment and then
// sleep: loops of a model follow each other closely.
//
//===----------------------------------------------------------------------===//

#include "Internal.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace {

struct Work {
  int64_t count = 0, grain = 1;
  mp_body body = nullptr;
  void *frame = nullptr;
  void *call = nullptr;
};

thread_local bool isBusy = false;

void relax() {
#if defined(__x86_64__)
  _mm_pause();
#endif
}

class Pool {
public:
  ~Pool() { resize(1); }

  int32_t getCount() {
    if (wanted == 0)
      wanted = std::max(1u, std::thread::hardware_concurrency());
    return wanted;
  }

  void setCount(int32_t count) {
    std::lock_guard<std::mutex> lock(runs);
    wanted = std::max(0, count);
  }

  void run(const Work &next) {
    // A loop in a loop, or a second caller: alone.
    int32_t count = getCount();
    bool alone = count == 1 || isBusy || next.count <= next.grain;
    if (alone || !runs.try_lock()) {
      for (int64_t begin = 0; begin < next.count; begin += next.grain)
        next.body(next.frame, begin, std::min(next.count, begin + next.grain));
      return;
    }
    std::lock_guard<std::mutex> lock(runs, std::adopt_lock);
    resize(count);
    work = next;
    position.store(0, std::memory_order_relaxed);
    working.store(static_cast<int32_t>(threads.size()),
                  std::memory_order_relaxed);
    {
      std::lock_guard<std::mutex> wake(mutex);
      generation.fetch_add(1, std::memory_order_release);
    }
    if (sleeping.load() > 0)
      woken.notify_all();
    isBusy = true;
    takeRanges();
    isBusy = false;
    while (working.load(std::memory_order_acquire) > 0)
      relax();
  }

private:
  void takeRanges() {
    for (;;) {
      int64_t begin = position.fetch_add(work.grain, std::memory_order_relaxed);
      if (begin >= work.count)
        return;
      work.body(work.frame, begin, std::min(work.count, begin + work.grain));
    }
  }

  bool waitForWork(uint64_t seen) {
    for (int spin = 0; spin < 20000; ++spin) {
      if (generation.load(std::memory_order_acquire) != seen)
        return !stops.load();
      relax();
    }
    std::unique_lock<std::mutex> lock(mutex);
    ++sleeping;
    woken.wait(lock, [&] { return generation.load() != seen; });
    --sleeping;
    return !stops.load();
  }

  void serve(uint64_t seen) {
    isBusy = true;
    while (waitForWork(seen)) {
      ++seen;
      mp_set_current_call(work.call);
      takeRanges();
      working.fetch_sub(1, std::memory_order_release);
    }
  }

  void resize(int32_t count) {
    if (static_cast<int32_t>(threads.size()) == count - 1)
      return;
    {
      std::lock_guard<std::mutex> lock(mutex);
      stops = true;
      generation.fetch_add(1);
    }
    woken.notify_all();
    for (std::thread &thread : threads)
      thread.join();
    threads.clear();
    stops = false;
    for (int32_t index = 1; index < count; ++index)
      threads.emplace_back([this, seen = generation.load()] { serve(seen); });
  }

  /// Held while a loop runs.
  std::mutex runs;
  std::atomic<int32_t> wanted{0};
  std::vector<std::thread> threads;

  Work work;
  std::atomic<int64_t> position{0};
  std::atomic<int32_t> working{0};

  std::mutex mutex;
  std::condition_variable woken;
  std::atomic<uint64_t> generation{0};
  std::atomic<int32_t> sleeping{0};
  std::atomic<bool> stops{false};
};

Pool &getPool() {
  static Pool pool;
  return pool;
}

} // namespace

extern "C" {

void mp_set_threads(int32_t count) { getPool().setCount(count); }
int32_t mp_get_threads(void) { return getPool().getCount(); }

void mp_parallel_for(int64_t count, int64_t grain, mp_body body, void *frame) {
  if (count > 0)
    getPool().run(
        {count, std::max<int64_t>(grain, 1), body, frame, mp_current_call()});
}

} // extern "C"
