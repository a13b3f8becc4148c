//===- Waiting.h - Threads that wait for each other -------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A waiting thread spins at first, since loops of a model follow each other
// closely, and then sleeps. Spinning is limited by time and not by a number of
// pauses, since their length differs by a factor of four between processors.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_RUNTIME_WAITING_H
#define MPOPT_LIB_RUNTIME_WAITING_H

#include "Internal.h"

#include <atomic>

namespace mp::runtime {

/// Nanoseconds of a monotonic clock.
int64_t readClock();

/// Threads sleep on a bell until it is rung.
class Bell {
public:
  /// Must be read before checking that there is nothing to do.
  uint32_t getRings() const { return rings.load(std::memory_order_acquire); }
  /// Sleeps until the bell has been rung since `seen` was read.
  void wait(uint32_t seen);
  /// Wakes all waiting threads.
  void ring();

private:
  std::atomic<uint32_t> rings{0};
#ifndef __linux__
  Mutex mutex;
  pthread_cond_t rung = PTHREAD_COND_INITIALIZER;
#endif
};

/// Detects that other programs use the processors, too. A thread that is taken
/// off its processor notes it. After a while without such events, there is no
/// crowd.
class Crowd {
public:
  /// A thread is never absent for this long if no other program competes for
  /// its processor.
  static constexpr int64_t longAbsence = 500'000;

  void note(int64_t now) {
    until.store(now + memory, std::memory_order_relaxed);
  }
  bool isThere(int64_t now) {
    int64_t end = until.load(std::memory_order_relaxed);
    if (end && now >= end)
      until.compare_exchange_strong(end, 0, std::memory_order_relaxed);
    return now < end;
  }
  /// Does not read the clock if no crowd has been noted.
  bool isThere() {
    return until.load(std::memory_order_relaxed) && isThere(readClock());
  }

private:
  static constexpr int64_t memory = 100'000'000;
  std::atomic<int64_t> until{0};
};

/// Limits the time for which a thread spins.
class Spin {
public:
  /// Spins for `quiet` nanoseconds, or for `crowded` if others want the
  /// processor.
  Spin(Crowd &crowd, int64_t quiet, int64_t crowded)
      : crowd(crowd), quiet(quiet), crowded(crowded) {}

  /// Waits for a moment; false when it is time to sleep.
  bool keepSpinning();
  void restart() { begin = 0; }

private:
  Crowd &crowd;
  int64_t quiet, crowded, begin = 0, last = 0;
  uint32_t rounds = 0;
};

/// The number of times that the thread was preempted; 0 if the system does not
/// report it.
long countPreemptions();

} // namespace mp::runtime

#endif // MPOPT_LIB_RUNTIME_WAITING_H
