//===- Benchmark.h - How long a model takes ---------------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_API_BENCHMARK_H
#define MPOPT_API_BENCHMARK_H

#include "mp-opt/API/Session.h"

#include "llvm/Support/raw_ostream.h"

namespace mp {

struct BenchmarkOptions {
  /// Measured calls; 0: as many as 3 seconds take, at least 10.
  uint64_t repeat = 0;
  /// Calls before them.
  uint64_t warmup = 3;
  /// What a call makes of its states goes into the next one.
  bool keepStates = false;
};

struct Measurement {
  /// In seconds, in the order of the calls.
  std::vector<double> times;
  CompileFigures compiled;
  /// Peak memory of the process, and bytes of what a call takes and gives.
  int64_t peakBytes = 0, inputBytes = 0, outputBytes = 0;

  /// Of the times, with linear interpolation; `share` is 0.5 for the median.
  double getPercentile(double share) const;
  /// Floating-point operations per second; absent where the model has sizes
  /// that are not known.
  std::optional<double> getRate() const;

  void print(llvm::raw_ostream &os) const;
  /// The same and every time, as an object on one line or, with an indent, on
  /// many.
  void printJSON(llvm::raw_ostream &os, unsigned indent) const;
};

/// Calls the session's program on the same inputs again and again, and
/// `onCall`, outside of what is measured, behind each measured call.
llvm::Expected<Measurement>
measure(Session &session, const BenchmarkOptions &options,
        llvm::function_ref<void()> onCall = nullptr);

} // namespace mp

#endif // MPOPT_API_BENCHMARK_H
