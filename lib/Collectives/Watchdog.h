//===- Watchdog.h - An end for what never ends ------------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_COLLECTIVES_WATCHDOG_H
#define MPOPT_LIB_COLLECTIVES_WATCHDOG_H

#include <condition_variable>
#include <string>
#include <thread>

namespace mp {

/// Ends the process, with a line that says why, when something takes longer
/// than a limit. A rank that is dead ends a run by itself; one that is stopped,
/// or waits for what never comes, would let all others wait for ever.
class Watchdog {
public:
  /// Seconds; 0 for none. `who` begins the line.
  Watchdog(double limit, std::string who);
  ~Watchdog();

  /// From `begin` to `end` time runs; `what` is what is done.
  void begin(std::string what);
  void end();

private:
  void watch();

  using Clock = std::chrono::steady_clock;
  const double limit;
  const std::string who;
  std::mutex mutex;
  std::condition_variable changed;
  std::string what;
  Clock::time_point begun;
  bool isRunning = false, isOver = false;
  std::thread thread;
};

} // namespace mp

#endif // MPOPT_LIB_COLLECTIVES_WATCHDOG_H
