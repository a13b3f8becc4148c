//===- Benchmark.h - Measures the time of calls -----------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_API_RUN_BENCHMARK_H
#define MPOPT_API_RUN_BENCHMARK_H

#include "mp-opt/API/Run/Session.h"

#include "llvm/Support/raw_ostream.h"

namespace mp {

struct BenchmarkOptions {
  /// The number of measured calls; 0 to measure for 3 seconds, at least 10
  /// calls.
  uint64_t repeat = 0;
  /// Calls before them.
  uint64_t warmup = 3;
  /// Each call starts with the states that the previous call has computed. On a
  /// device, large inputs are copied during the call before, as in training.
  bool keepStates = false;
};

struct Measurement {
  /// In seconds, ordered as the calls.
  std::vector<double> times;
  CompileFigures compiled;
  /// The peak memory of the process, and the sizes of the inputs and outputs of
  /// a call.
  int64_t peakBytes = 0, inputBytes = 0, outputBytes = 0;
  /// The reason why inputs were not copied during the call before; empty if
  /// they were, or need not be.
  std::string shortage;

  /// A percentile of the times, interpolated linearly; `share` is 0.5 for the
  /// median.
  double getPercentile(double share) const;
  /// Floating-point operations per second; absent if the model has unknown
  /// sizes.
  std::optional<double> getRate() const;

  void print(llvm::raw_ostream &os) const;
  /// Prints the same and every time, as an object on one line or, with an
  /// indent, on several lines.
  void printJSON(llvm::raw_ostream &os, unsigned indent) const;
};

/// Calls the session's program repeatedly on the same inputs. `onCall` is
/// called after each measured call, outside of the measurement.
llvm::Expected<Measurement>
measure(Session &session, const BenchmarkOptions &options,
        llvm::function_ref<void()> onCall = nullptr);

} // namespace mp

#endif // MPOPT_API_RUN_BENCHMARK_H
