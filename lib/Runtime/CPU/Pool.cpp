//===- Pool.cpp - The threads of compiled models --------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Threads take ranges of a loop from a common counter until none is left. What
// a range computes does not depend on who takes it, so results are the same
// for any number of threads.
//
// A loop is over when all ranges are taken and all threads that have joined it
// have left it. No thread waits for one that comes late. One word holds all
// shared state, so that each step is one atomic operation:
//
//   bits  0-14  threads that have joined and not left, without the caller
//   bit   15    the caller sleeps until the last of them leaves
//   bits 16-29  threads that sleep until a loop begins
//   bit   30    closed: no thread may join
//   bit   31    threads have to end
//   bits 32-63  the number of the loop
//
// - The caller writes `work` and `position` while the loop is closed and no
//   thread is in it, then opens it (release). Threads read them after joining,
//   by a compare-and-swap on the open word (acquire): a thread that reads them
//   is counted, and the caller does not get past `close` before it has left
//   (release, acquire). Steps of others in between are read-modify-writes,
//   which carry a release on.
// - Numbers of loops come back after 2^32. A thread that is held up for so long
//   joins the loop that is open then, which is right: before it has joined, it
//   has read nothing of a loop but the word itself. A thread that has slept
//   through exactly that many takes a loop for one that it has left, and misses
//   it, as if it had come late.
// - No ring is missed: a thread reads the count of rings, then counts itself
//   among those that sleep (release). Who opens a loop takes that count away
//   (acquire) and rings afterwards, so that the thread's `wait` sees another
//   count. The same goes for the caller's bit and the last thread that leaves.
//
// If other programs compete for the processors, a thread that is preempted in
// the middle of a range delays the whole loop. While there is such a crowd,
// threads of the pool keep off the caller's processor, and yield their own
// between two ranges before it would be taken from them.
//
//===----------------------------------------------------------------------===//

#include "Pool.h"

#include "Processors.h"

#include <cstdlib>

using namespace mp::runtime;

static constexpr uint64_t oneActive = 1, activeMask = (1 << 15) - 1,
                          callerSleeps = 1 << 15, oneSleeper = 1 << 16,
                          sleeperMask = UINT64_C(0x3FFF) << 16,
                          closed = UINT64_C(1) << 30,
                          haveToEnd = UINT64_C(1) << 31,
                          oneLoop = UINT64_C(1) << 32,
                          loopMask = ~UINT64_C(0) << 32,
                          /// Not the number of any loop.
    noLoop = 1;

/// A bound that fits into the bits of the word with room to spare.
static constexpr int32_t maxThreads = 4096;

// Spinning times in nanoseconds. Waking a thread takes 5 to 50 us, and the time
// between loops of a call rarely exceeds the spinning time; the caller waits
// for at most one range.
static constexpr int64_t threadSpins = 500'000, callerSpins = 1'000'000,
                         spinsInCrowd = 20'000;
/// The time that a thread works in a crowd before it yields its processor.
/// Systems use time slices of 3 or 4 ms.
static constexpr int64_t turn = 1'000'000;

static thread_local bool isBusy = false;

int32_t Pool::getCount() {
  int32_t there = pretended ? pretended : processors.load();
  if (there == 0)
    processors = there = countProcessors();
  int32_t count = wanted;
  if (count == 0 || count > there)
    count = there;
  return count < maxThreads ? count : maxThreads;
}

void Pool::setCount(int32_t count) {
  Lock lock(runs);
  wanted = count > 0 ? count : 0;
  processors = 0;
}

void Pool::run(const Work &next) {
  int32_t count = getCount();
  // A nested loop, or one of a second caller, runs on its own thread alone.
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

void Pool::end() {
  Lock lock(runs);
  resize(1);
  std::free(threads);
  threads = nullptr;
}

void Pool::forget() {
  // The thread that may have held the mutex is not in this process.
  runs = Mutex();
  state.store(closed);
  numThreads = 0;
  made = 1;
  keptOff = -1;
}

//===----------------------------------------------------------------------===//
// The caller
//===----------------------------------------------------------------------===//

void Pool::share(const Work &next) {
  keepApart();
  open(next);
  isBusy = true;
  takeRanges(nullptr);
  isBusy = false;
  close();
}

void Pool::open(const Work &next) {
  work = next;
  position.store(0, std::memory_order_relaxed);
  uint64_t before = state.load(std::memory_order_relaxed);
  // Only threads that go to sleep change the word concurrently.
  while (!state.compare_exchange_weak(before, (before & loopMask) + oneLoop,
                                      std::memory_order_acq_rel,
                                      std::memory_order_relaxed))
    ;
  if (before & sleeperMask)
    begins.ring();
}

void Pool::close() {
  uint64_t now = state.fetch_or(closed, std::memory_order_acq_rel);
  Spin spin(crowd, callerSpins, spinsInCrowd);
  while (now & activeMask) {
    if (spin.keepSpinning()) {
      now = state.load(std::memory_order_acquire);
      continue;
    }
    // Sleeping frees the processor, also for a thread that waits for one.
    uint32_t rings = ends.getRings();
    sleptAt.store(readClock(), std::memory_order_relaxed);
    now = state.fetch_or(callerSleeps, std::memory_order_acq_rel);
    if (now & activeMask)
      ends.wait(rings);
    now = state.load(std::memory_order_acquire);
  }
}

/// In a crowd the system may schedule a thread on the caller's processor, where
/// it does not help and takes time slices from the caller.
void Pool::keepApart() {
#ifdef __linux__
  if (!crowd.isThere()) {
    if (keptOff >= 0)
      setAffinity(-1);
    return;
  }
  int32_t mine = sched_getcpu();
  if (mine < 0 || mine == keptOff || mine >= CPU_SETSIZE)
    return;
  if (keptOff < 0 && sched_getaffinity(0, sizeof(allowed), &allowed) != 0)
    return;
  setAffinity(mine);
#endif
}

/// Lets threads use the caller's processors except one; all of them if -1.
void Pool::setAffinity(int32_t except) {
#ifdef __linux__
  cpu_set_t mask = allowed;
  if (except >= 0)
    CPU_CLR(except, &mask);
  if (CPU_COUNT(&mask) == 0)
    return;
  for (int32_t index = 0; index < numThreads; ++index)
    pthread_setaffinity_np(threads[index], sizeof(mask), &mask);
  keptOff = except;
#endif
}

//===----------------------------------------------------------------------===//
// Threads
//===----------------------------------------------------------------------===//

void Pool::serve() {
  isBusy = true;
  uint64_t seen = first;
  /// The time since which the thread has had its processor, as far as it knows.
  int64_t since = readClock();
  long preemptions = countPreemptions();
  bool isInTheWay = false;
  while (join(seen, since, isInTheWay)) {
    workFor(work.call);
    bool tookAll = takeRanges(&since);
    isInTheWay = leave(preemptions);
    if (tookAll)
      continue;
    letOthersRun(since);
    seen = noLoop;
    isInTheWay = false;
  }
}

/// Waits for a loop other than `seen` and joins it; false: it is time to end.
bool Pool::join(uint64_t &seen, int64_t &since, bool isInTheWay) {
  Spin spin(crowd, threadSpins, spinsInCrowd);
  for (;;) {
    uint64_t now = state.load(std::memory_order_acquire);
    if (now & haveToEnd)
      return false;
    if (!(now & closed) && (now & loopMask) != seen) {
      if (!state.compare_exchange_weak(now, now + oneActive,
                                       std::memory_order_acq_rel,
                                       std::memory_order_relaxed))
        continue;
      seen = now & loopMask;
      return true;
    }
    if (!isInTheWay && spin.keepSpinning())
      continue;
    isInTheWay = false;
    uint32_t rings = begins.getRings();
    if (!state.compare_exchange_strong(now, now + oneSleeper,
                                       std::memory_order_acq_rel,
                                       std::memory_order_relaxed))
      continue;
    begins.wait(rings);
    since = readClock();
    spin.restart();
  }
}

/// False if the thread leaves some to others: it has had its processor `since`
/// so long ago that it may lose it at any time.
bool Pool::takeRanges(const int64_t *since) {
  for (;;) {
    if (since && crowd.isThere() && readClock() - *since > turn)
      return false;
    int64_t begin = position.fetch_add(work.grain, std::memory_order_relaxed);
    if (begin >= work.count)
      return true;
    work.run(begin);
  }
}

/// Returns true if the caller is likely to want this processor. The loop's data
/// must not be accessed after this.
bool Pool::leave(long &preemptions) {
  uint64_t left =
      state.fetch_sub(oneActive, std::memory_order_acq_rel) - oneActive;
  if (!(left & callerSleeps))
    return false;
  if (!(left & activeMask))
    ends.ring();
  // Checks if this thread has delayed the caller without its range being long.
  int64_t now = readClock();
  long count = countPreemptions();
  if (count != preemptions &&
      now - sleptAt.load(std::memory_order_relaxed) > Crowd::longAbsence)
    crowd.note(now);
  preemptions = count;
  return crowd.isThere(now);
}

/// Returns at once if no other program waits for the processor.
void Pool::letOthersRun(int64_t &since) {
  int64_t before = readClock();
  sched_yield();
  since = readClock();
  if (since - before > Crowd::longAbsence)
    crowd.note(since);
}

//===----------------------------------------------------------------------===//
// The number of threads
//===----------------------------------------------------------------------===//

void Pool::stopThreads() {
  state.fetch_or(haveToEnd);
  begins.ring();
  for (int32_t index = 0; index < numThreads; ++index)
    pthread_join(threads[index], nullptr);
  state.store((state.load() & loopMask) | closed);
  numThreads = 0;
  keptOff = -1;
}

void Pool::resize(int32_t count) {
  if (count == made)
    return;
  stopThreads();
  made = count;
  void *room = std::realloc(threads, sizeof(pthread_t) * count);
  if (!room)
    return;
  threads = static_cast<pthread_t *>(room);
  first = state.load() & loopMask;
  auto start = [](void *pool) -> void * {
    static_cast<Pool *>(pool)->serve();
    return nullptr;
  };
  // If the system refuses threads, the existing ones do the work.
  while (numThreads < count - 1 &&
         pthread_create(&threads[numThreads], nullptr, start, this) == 0)
    ++numThreads;
}

//===----------------------------------------------------------------------===//
// The pool of the process
//===----------------------------------------------------------------------===//

static Pool pool;

__attribute__((constructor)) static void expectForks() {
  pthread_atfork(nullptr, nullptr, [] { pool.forget(); });
}

/// A library may be unloaded, after which no thread may run its code.
__attribute__((destructor)) static void endPool() { pool.end(); }

extern "C" {

void mp_set_threads(int32_t count) { pool.setCount(count); }
int32_t mp_get_threads(void) { return pool.getCount(); }

void mp_parallel_for(int64_t count, int64_t grain, mp_body body, void *frame) {
  if (count > 0)
    pool.run({count, grain > 1 ? grain : 1, body, frame, getCurrentCall()});
}

} // extern "C"
