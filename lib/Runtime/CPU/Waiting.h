//===- Waiting.h - Threads that wait for each other -------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Who waits spins at first, since loops of a model follow each other closely,
// and then sleeps. Times are counted, not pauses, which differ by a factor of
// four between processors.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_RUNTIME_WAITING_H
#define MPOPT_LIB_RUNTIME_WAITING_H

#include "Internal.h"

#include <atomic>

namespace mp::runtime {

/// Nanoseconds, of a clock that never goes back.
int64_t readClock();

/// Where threads sleep until it is rung.
class Bell {
public:
  /// To be read before what decides that there is nothing to do.
  uint32_t getRings() const { return rings.load(std::memory_order_acquire); }
  /// Until it has been rung since `seen` was read.
  void wait(uint32_t seen);
  /// Wakes all.
  void ring();

private:
  std::atomic<uint32_t> rings{0};
#ifndef __linux__
  Mutex mutex;
  pthread_cond_t rung = PTHREAD_COND_INITIALIZER;
#endif
};

/// Whether other programs want the processors, too. A thread that is taken off
/// its processor notes it; after a while without, nobody is taken to be there.
class Crowd {
public:
  /// What no thread of a machine of its own is taken off its processor for.
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
  /// Costs no look at the clock where nobody has been noted.
  bool isThere() {
    return until.load(std::memory_order_relaxed) && isThere(readClock());
  }

private:
  static constexpr int64_t memory = 100'000'000;
  std::atomic<int64_t> until{0};
};

/// Says how long a thread spins.
class Spin {
public:
  /// For `quiet` nanoseconds where nobody else wants the processor.
  Spin(Crowd &crowd, int64_t quiet, int64_t crowded)
      : crowd(crowd), quiet(quiet), crowded(crowded) {}

  /// Waits for a moment; false when it is time to sleep.
  bool goOn();
  void restart() { begin = 0; }

private:
  Crowd &crowd;
  int64_t quiet, crowded, begin = 0, last = 0;
  uint32_t rounds = 0;
};

/// How often the thread has been taken off its processor; 0 where the system
/// does not say so.
long countPreemptions();

} // namespace mp::runtime

#endif // MPOPT_LIB_RUNTIME_WAITING_H
