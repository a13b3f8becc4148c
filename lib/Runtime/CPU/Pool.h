//===- Pool.h - The threads of compiled models ------------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_RUNTIME_POOL_H
#define MPOPT_LIB_RUNTIME_POOL_H

#include "Waiting.h"

#ifdef __linux__
#include <sched.h>
#endif

namespace mp::runtime {

/// A loop.
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

class Pool {
public:
  /// The number of threads for loops: the requested one, but not more than
  /// there are processors.
  int32_t getCount();
  /// Sets the number of threads; 0 for the number of processors, which is
  /// determined again.
  void setCount(int32_t count);
  /// For tests: overrides the number of processors.
  void pretendProcessors(int32_t count) { pretended = count; }
  /// For tests: pretends that a thread was taken off its processor.
  void noteCrowd() { crowd.note(readClock()); }

  void run(const Work &next);
  /// Ends all threads.
  void end();
  /// Resets the pool in the child of a fork, which has none of the threads.
  void forget();

private:
  void share(const Work &next);
  void open(const Work &next);
  void close();
  void keepApart();
  void setAffinity(int32_t except);

  void serve();
  bool join(uint64_t &seen, int64_t &since, bool isInTheWay);
  bool takeRanges(const int64_t *since);
  bool leave(long &preemptions);
  void letOthersRun(int64_t &since);

  void resize(int32_t count);
  void stopThreads();

  /// Held while a loop runs.
  Mutex runs;
  std::atomic<int32_t> wanted{0}, processors{0};
  int32_t pretended = 0;
  pthread_t *threads = nullptr;
  int32_t numThreads = 0;
  /// The thread count for which they were created.
  int32_t made = 1;
  /// The loop in which the threads began.
  uint64_t first = 0;

  // Data that all threads write are on other cache lines than data that they
  // only read.
  alignas(64) Work work;
  alignas(64) std::atomic<int64_t> position{0};
  /// The state word described in Pool.cpp.
  alignas(64) std::atomic<uint64_t> state{UINT64_C(1) << 30};
  /// Rung for threads when there is a loop, and for the caller at its end.
  alignas(64) Bell begins;
  Bell ends;
  /// The time at which the caller went to sleep.
  std::atomic<int64_t> sleptAt{0};
  Crowd crowd;
#ifdef __linux__
  /// The processors that threads may use, and the one that they are kept off.
  cpu_set_t allowed = {};
#endif
  int32_t keptOff = -1;
};

} // namespace mp::runtime

#endif // MPOPT_LIB_RUNTIME_POOL_H
