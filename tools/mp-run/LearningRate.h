//===- LearningRate.h - The learning rate from step to step -----*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_TOOLS_LEARNINGRATE_H
#define MPOPT_TOOLS_LEARNINGRATE_H

#include "Flags.h"

#include "mp-opt/Data/DataFiles.h"

namespace mp {

/// A rate that rises for `warmup` steps and then follows a schedule.
struct LearningRate {
  /// The greatest rate; absent: the step's own default.
  std::optional<double> base;
  std::string schedule = "constant";
  double least = 0, gamma = 0.1;
  uint64_t warmup = 0, interval = 0;

  void addTo(Flags &flags);
  /// An exit code if the flags are wrong.
  std::optional<int> check(const Flags &flags);

  /// True if the rate depends on how many steps there will be.
  bool needsTotal() const {
    return schedule == "linear" || schedule == "cosine";
  }
  /// True if it is not the same in every step.
  bool isFixed() const { return schedule == "constant" && !warmup; }
  /// Of the step number `step`, the first of which is 0, of `total`.
  double at(uint64_t step, uint64_t total) const;

  /// What a checkpoint must agree with.
  void describe(uint64_t total, DataAttributes &settings) const;

private:
  std::string baseText;
};

} // namespace mp

#endif // MPOPT_TOOLS_LEARNINGRATE_H
