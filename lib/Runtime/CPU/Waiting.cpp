//===- Waiting.cpp - Threads that wait for each other ---------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Waiting.h"

#include <climits>
#include <ctime>

#ifdef __linux__
#include <linux/futex.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif
#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace mp::runtime {

int64_t readClock() {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * INT64_C(1'000'000'000) + time.tv_nsec;
}

#ifdef __linux__

void Bell::wait(uint32_t seen) {
  // The system compares the count again, so that no ring in between is missed.
  while (getRings() == seen)
    syscall(SYS_futex, &rings, FUTEX_WAIT_PRIVATE, seen, nullptr, nullptr, 0);
}

void Bell::ring() {
  rings.fetch_add(1, std::memory_order_release);
  syscall(SYS_futex, &rings, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
}

long countPreemptions() {
  struct rusage usage = {};
  getrusage(RUSAGE_THREAD, &usage);
  return usage.ru_nivcsw;
}

#else

void Bell::wait(uint32_t seen) {
  Lock lock(mutex);
  while (getRings() == seen)
    pthread_cond_wait(&rung, mutex.get());
}

void Bell::ring() {
  Lock lock(mutex);
  rings.fetch_add(1, std::memory_order_release);
  pthread_cond_broadcast(&rung);
}

long countPreemptions() { return 0; }

#endif

static void relax() {
#if defined(__x86_64__)
  _mm_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

bool Spin::keepSpinning() {
  // Reading the clock takes as long as several pauses.
  constexpr uint32_t pausesPerLook = 16;
  relax();
  if (++rounds % pausesPerLook)
    return true;
  int64_t now = readClock();
  if (!begin)
    begin = last = now;
  // Between two clock readings the thread does nothing that takes time, so a
  // long gap means preemption.
  if (now - last > Crowd::longAbsence)
    crowd.note(now);
  last = now;
  return now - begin < (crowd.isThere(now) ? crowded : quiet);
}

} // namespace mp::runtime
