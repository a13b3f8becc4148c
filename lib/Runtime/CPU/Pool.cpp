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

#include <atomic>
#include <cstdlib>
#include <unistd.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

using namespace mp::runtime;

namespace {

struct Work {
  int64_t count = 0, grain = 1;
  mp_body body = nullptr;
  void *frame = nullptr;
  Call *call = nullptr;

  void run(int64_t begin) const {
    int64_t end = grain < count - begin ? begin + grain : count;
    body(frame, begin, end);
  }
};

thread_local bool isBusy = false;

void relax() {
#if defined(__x86_64__)
  _mm_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

class Pool {
public:
  int32_t getCount() {
    if (wanted == 0) {
      long online = sysconf(_SC_NPROCESSORS_ONLN);
      wanted = online > 0 ? static_cast<int32_t>(online) : 1;
    }
    return wanted;
  }

  void setCount(int32_t count) {
    Lock lock(runs);
    wanted = count > 0 ? count : 0;
  }

  void run(const Work &next) {
    // A loop in a loop, or a second caller: alone.
    int32_t count = getCount();
    bool alone = count == 1 || isBusy || next.count <= next.grain;
    if (alone || !runs.tryLock()) {
      for (int64_t begin = 0; begin < next.count; begin += next.grain)
        next.run(begin);
      return;
    }
    resize(count);
    share(next);
    runs.unlock();
  }

  /// Ends all threads.
  void end() {
    Lock lock(runs);
    resize(1);
    std::free(threads);
    threads = nullptr;
  }

private:
  void share(const Work &next) {
    work = next;
    position.store(0, std::memory_order_relaxed);
    working.store(numThreads, std::memory_order_relaxed);
    wakeAll();
    isBusy = true;
    takeRanges();
    isBusy = false;
    while (working.load(std::memory_order_acquire) > 0)
      relax();
  }

  void wakeAll() {
    {
      Lock wake(mutex);
      generation.fetch_add(1, std::memory_order_release);
    }
    if (sleeping.load() > 0)
      pthread_cond_broadcast(&woken);
  }

  void takeRanges() {
    for (;;) {
      int64_t begin = position.fetch_add(work.grain, std::memory_order_relaxed);
      if (begin >= work.count)
        return;
      work.run(begin);
    }
  }

  bool waitForWork(uint64_t seen) {
    for (int spin = 0; spin < 20000; ++spin) {
      if (generation.load(std::memory_order_acquire) != seen)
        return !stops.load();
      relax();
    }
    Lock lock(mutex);
    ++sleeping;
    while (generation.load() == seen)
      pthread_cond_wait(&woken, mutex.get());
    --sleeping;
    return !stops.load();
  }

  void serve() {
    isBusy = true;
    for (uint64_t seen = first; waitForWork(seen); ++seen) {
      workFor(work.call);
      takeRanges();
      working.fetch_sub(1, std::memory_order_release);
    }
  }

  void stopThreads() {
    stops = true;
    wakeAll();
    for (int32_t index = 0; index < numThreads; ++index)
      pthread_join(threads[index], nullptr);
    stops = false;
    numThreads = 0;
  }

  void resize(int32_t count) {
    if (count == made)
      return;
    stopThreads();
    made = count;
    void *room = std::realloc(threads, sizeof(pthread_t) * count);
    if (!room)
      return;
    threads = static_cast<pthread_t *>(room);
    first = generation.load();
    auto start = [](void *pool) -> void * {
      static_cast<Pool *>(pool)->serve();
      return nullptr;
    };
    // What the system does not grant is done by those that there are.
    while (numThreads < count - 1 &&
           pthread_create(&threads[numThreads], nullptr, start, this) == 0)
      ++numThreads;
  }

  /// Held while a loop runs.
  Mutex runs;
  std::atomic<int32_t> wanted{0};
  pthread_t *threads = nullptr;
  int32_t numThreads = 0;
  /// The count that they were made for.
  int32_t made = 1;
  /// The generation in which they began.
  uint64_t first = 0;

  Work work;
  std::atomic<int64_t> position{0};
  std::atomic<int32_t> working{0};

  Mutex mutex;
  pthread_cond_t woken = PTHREAD_COND_INITIALIZER;
  std::atomic<uint64_t> generation{0};
  std::atomic<int32_t> sleeping{0};
  std::atomic<bool> stops{false};
};

Pool pool;

/// A library may be unloaded: nothing may run in its code then.
__attribute__((destructor)) void endPool() { pool.end(); }

} // namespace

extern "C" {

void mp_set_threads(int32_t count) { pool.setCount(count); }
int32_t mp_get_threads(void) { return pool.getCount(); }

void mp_parallel_for(int64_t count, int64_t grain, mp_body body, void *frame) {
  if (count > 0)
    pool.run({count, grain > 1 ? grain : 1, body, frame, getCurrentCall()});
}

} // extern "C"
