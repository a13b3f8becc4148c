//===- LearningRate.h - The learning rate from step to step -----*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_API_TRAIN_LEARNINGRATE_H
#define MPOPT_API_TRAIN_LEARNINGRATE_H

#include "mp-opt/Data/DataFiles.h"

namespace mp {

/// The course of the rate after its warm-up.
enum class RateSchedule {
  Constant,
  /// Falls to `least` in the last step, in a straight line or half a cosine.
  Linear,
  Cosine,
  /// Multiplied by `gamma` every `interval` steps.
  Step,
};

/// "constant", "linear", "cosine" and "step".
llvm::ArrayRef<llvm::StringRef> getRateScheduleNames();
std::optional<RateSchedule> parseRateSchedule(llvm::StringRef name);

/// A rate that rises for `warmup` steps and then follows a schedule.
struct LearningRate {
  /// The greatest rate; absent to use the step's own default.
  std::optional<double> base;
  RateSchedule schedule = RateSchedule::Constant;
  double least = 0, gamma = 0.1;
  /// In steps. An interval of 0 means that none is set; Step requires one.
  uint64_t warmup = 0, interval = 0;

  /// True if the rate depends on how many steps there will be.
  bool needsTotal() const {
    return schedule == RateSchedule::Linear || schedule == RateSchedule::Cosine;
  }
  /// True if it is the same in every step.
  bool isFixed() const { return schedule == RateSchedule::Constant && !warmup; }
  /// The rate in step number `step` of `total`; the first step is number 0.
  double at(uint64_t step, uint64_t total) const;

  /// Settings that a checkpoint must match.
  void describe(uint64_t total, DataAttributes &settings) const;
};

} // namespace mp

#endif // MPOPT_API_TRAIN_LEARNINGRATE_H
