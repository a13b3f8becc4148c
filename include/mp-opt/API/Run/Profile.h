//===- Profile.h - Times of kernels and nodes -------------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Profiles a program on the processor that was compiled with `keepTimes`: the
// time of each kernel, the bytes and operations of its work, and the distance
// to the roofline of this processor (Williams, Waterman and Patterson,
// "Roofline", 2009). A kernel takes at least as long as its bytes take from
// memory, or its arithmetic in registers. Data in caches can make a kernel
// faster than that.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_API_RUN_PROFILE_H
#define MPOPT_API_RUN_PROFILE_H

#include "mp-opt/API/Run/Benchmark.h"
#include "mp-opt/Codegen/Host/HostPeaks.h"

namespace mp {

/// The times of one kernel over all measured calls, or the sum of several
/// kernels.
struct KernelTime {
  /// The median over the calls, in seconds.
  double seconds = 0;
  /// The lower bound by the roofline; 0 if the work is unknown.
  double bound = 0;
  /// A multiply-add counts as two.
  double flops = 0;
  double bytes = 0;
  uint64_t kernels = 0;

  void add(const KernelTime &other);
};

class Profile {
public:
  /// Calls the program as `measure` does.
  static llvm::Expected<Profile> measure(Session &session,
                                         const BenchmarkOptions &options,
                                         const HostPeaks &peaks);

  /// Prints totals, tables by kinds of work and by forward, backward and
  /// update, and one of the slowest kernels.
  void print(llvm::raw_ostream &os) const;
  /// Prints the same with every kernel and node, as an object.
  void printJSON(llvm::raw_ostream &os) const;
  /// One call in the format of chrome://tracing and Perfetto: the call with the
  /// median time.
  void printTrace(llvm::raw_ostream &os) const;

private:
  void addCall(llvm::ArrayRef<int64_t> times);
  void finish();
  /// The total that shares refer to. The medians of kernels add up to less than
  /// the median of calls if each kernel is delayed in a different call.
  double getTotal() const;

  Measurement calls;
  HostPeaks peaks;
  std::vector<KernelWork> kernels;
  std::vector<KernelTime> times;
  /// The time outside of kernels, for checking inputs and making outputs: the
  /// median over the calls.
  double otherSeconds = 0;
  /// Samples of each kernel in each call, in seconds; sums of all kernels in
  /// each call; and the timestamps of the median call.
  std::vector<std::vector<double>> samples;
  std::vector<double> sums;
  std::vector<int64_t> medianCall;
};

} // namespace mp

#endif // MPOPT_API_RUN_PROFILE_H
