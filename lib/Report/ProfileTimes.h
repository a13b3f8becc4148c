//===- ProfileTimes.h - Times of a model's kernels --------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_REPORT_PROFILETIMES_H
#define MPOPT_LIB_REPORT_PROFILETIMES_H

#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"

#include <optional>
#include <string>
#include <vector>

namespace mp {

/// A kernel of a compiled model, as `mp-run bench --profile` measured it.
struct ProfiledKernel {
  std::string kind;
  double seconds = 0;
  /// The share of the processor's peak; absent if the work is unknown.
  std::optional<double> roofline;
  /// The names of the nodes that it computes.
  std::vector<std::string> nodes;
};

/// Reads the JSON that `mp-run bench --profile --json` prints. Errors name the
/// file and the missing part.
llvm::Expected<std::vector<ProfiledKernel>> readProfile(llvm::StringRef path);

} // namespace mp

#endif // MPOPT_LIB_REPORT_PROFILETIMES_H
