//===- Profile.h - Where the time of a call goes ----------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Of a program on the processor, compiled with `keepTimes`: the time of each of
// its kernels, what they move and compute, and how near that is to the roofline
// of this processor (Williams, Waterman and Patterson, "Roofline", 2009): a
// kernel takes at least as long as its bytes take from memory, or its
// arithmetic in registers. What comes out of caches can be faster than that.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_API_PROFILE_H
#define MPOPT_API_PROFILE_H

#include "mp-opt/API/Benchmark.h"
#include "mp-opt/Codegen/Host/HostPeaks.h"

namespace mp {

/// One kernel in all measured calls, or several of them.
struct KernelTime {
  /// Of its calls, the median, in seconds.
  double seconds = 0;
  /// At least, by the roofline; 0 where the work is not known.
  double bound = 0;
  /// A multiply-add is two.
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

  /// Totals, tables by kinds of work and by forward, backward and update, and
  /// one of the kernels that take longest.
  void print(llvm::raw_ostream &os) const;
  /// The same with every kernel and node, as an object.
  void printJSON(llvm::raw_ostream &os) const;
  /// One call, in the form that chrome://tracing and Perfetto read: the one
  /// whose time is the median.
  void printTrace(llvm::raw_ostream &os) const;

private:
  void addCall(llvm::ArrayRef<int64_t> times);
  void finish();
  /// What shares are of: medians add up to less than the median of calls where
  /// each of these is held up somewhere else.
  double getTotal() const;

  Measurement calls;
  HostPeaks peaks;
  std::vector<KernelWork> kernels;
  std::vector<KernelTime> times;
  /// What no kernel has done: inputs that are checked, outputs that are made.
  /// The median of calls.
  double otherSeconds = 0;
  /// Of each kernel in each call, in seconds; of all of them in each call; and
  /// of the median call, the times themselves.
  std::vector<std::vector<double>> samples;
  std::vector<double> sums;
  std::vector<int64_t> medianCall;
};

} // namespace mp

#endif // MPOPT_API_PROFILE_H
