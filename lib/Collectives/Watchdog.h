//===- Watchdog.h - A time limit for operations -----------------*- C++ -*-===//
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

/// Ends the process with an error line if an operation exceeds a time limit. If
/// a rank dies, the run ends anyway. A rank that is stopped, or waits forever,
/// would make all others wait forever.
class Watchdog {
public:
  /// Seconds; 0 for none. `who` begins the line.
  Watchdog(double limit, std::string who);
  ~Watchdog();

  /// Starts and ends the time of an operation; `what` describes it.
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
