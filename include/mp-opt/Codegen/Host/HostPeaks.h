//===- HostPeaks.h - Peak rates of this processor ---------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_CODEGEN_HOST_HOSTPEAKS_H
#define MPOPT_CODEGEN_HOST_HOSTPEAKS_H

#include "mp-opt/Codegen/Target/Target.h"

namespace mp {

/// The roofline of some threads: operations per second, a multiply-add being
/// two, in registers; and bytes per second that are read from memory.
struct HostPeaks {
  double floatRate = 0;
  /// The rate of 16-bit factors, as code for a target multiplies them.
  double narrowRate = 0;
  double doubleRate = 0;
  double bandwidth = 0;
};

/// Measures for about half a second, on `threads` threads at once. Processors
/// that are shared, or clocked by their load, give more in one run than in
/// another.
HostPeaks measureHostPeaks(const Target &target, unsigned threads);

} // namespace mp

#endif // MPOPT_CODEGEN_HOST_HOSTPEAKS_H
