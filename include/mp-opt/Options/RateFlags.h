//===- RateFlags.h - The learning rate of a run -----------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_OPTIONS_RATEFLAGS_H
#define MPOPT_OPTIONS_RATEFLAGS_H

#include "mp-opt/API/Train/LearningRate.h"
#include "mp-opt/Options/FlagTable.h"

#include <string>

namespace mp {

/// Adds a group to flags, and must live when they are given.
struct RateFlags {
  RateFlags(FlagTable &flags, LearningRate &rate);
  /// Completes the rate; fails with kind Usage if flags contradict each other.
  llvm::Error check();

  LearningRate &to;
  std::string base, schedule;
};

} // namespace mp

#endif // MPOPT_OPTIONS_RATEFLAGS_H
