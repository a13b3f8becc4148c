//===- TrainingProgress.h - How far a training run is -----------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_API_TRAININGPROGRESS_H
#define MPOPT_API_TRAININGPROGRESS_H

#include "mp-opt/API/StepRecord.h"

#include <chrono>

namespace mp {

/// A bar on a terminal; elsewhere ten lines or so a run. Time runs from its
/// creation on.
class TrainingProgress {
public:
  /// Of a run of `total` steps, some of which may have been made before.
  TrainingProgress(llvm::raw_ostream &os, bool isTerminal, uint64_t total);
  ~TrainingProgress() { end(); }

  void show(const StepRecord &record);
  /// Ends the bar's line, for other text on the same stream.
  void end();

  double getSeconds() const;

private:
  llvm::raw_ostream &os;
  const bool isTerminal;
  const uint64_t total;
  /// Steps that were shown.
  uint64_t made = 0;
  bool hasBar = false;
  std::chrono::steady_clock::time_point start, shown;
};

} // namespace mp

#endif // MPOPT_API_TRAININGPROGRESS_H
