//===- Stopwatch.h - Adds the seconds of a scope ----------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_API_RUN_STOPWATCH_H
#define MPOPT_LIB_API_RUN_STOPWATCH_H

#include <chrono>

namespace mp {

class Stopwatch {
public:
  explicit Stopwatch(double &to) : to(to), start(Clock::now()) {}
  ~Stopwatch() {
    to += std::chrono::duration<double>(Clock::now() - start).count();
  }

private:
  using Clock = std::chrono::steady_clock;
  double &to;
  Clock::time_point start;
};

} // namespace mp

#endif // MPOPT_LIB_API_RUN_STOPWATCH_H
