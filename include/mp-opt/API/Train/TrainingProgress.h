//===- TrainingProgress.h - Progress of a training run ----------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_API_TRAIN_TRAININGPROGRESS_H
#define MPOPT_API_TRAIN_TRAININGPROGRESS_H

#include "mp-opt/API/Train/StepRecord.h"

#include <chrono>
#include <functional>

namespace mp {

/// The rate of events over about the last ten seconds; older events count less.
class RecentRate {
public:
  /// Adds one event that took `seconds`.
  void add(double seconds);
  /// 0 before the first.
  double get() const { return time > 0 ? events / time : 0; }

private:
  double events = 0, time = 0;
};

struct ProgressOptions {
  /// Shows a line that is overwritten, and one that stays for each epoch (or
  /// for some, if there are many); otherwise about ten lines per run.
  bool isBar = false;
  bool isColored = false;
  /// The current width of the terminal; null or 0 if unknown.
  std::function<unsigned()> getColumns;
  /// The total number of steps, some of which may have been done before; steps
  /// per epoch; and rows per step, 0 if there are none.
  uint64_t steps = 0, stepsPerEpoch = 1, rows = 0;
};

/// Shows the progress of a run, the remaining time, and the mean loss of the
/// epoch so far. Time is measured from the creation of the object.
class TrainingProgress {
public:
  TrainingProgress(llvm::raw_ostream &os, ProgressOptions options);
  ~TrainingProgress() { end(); }

  void show(const StepRecord &record);
  /// Ends the bar's line, for other text on the same stream.
  void end();

  double getSeconds() const;

private:
  using Clock = std::chrono::steady_clock;

  uint64_t getEpochs() const;
  bool isEpochEnd(const StepRecord &record) const;
  bool isLineDue(const StepRecord &record) const;
  void showLine(const StepRecord &record);
  void showBar(const StepRecord &record);
  std::string describe(const StepRecord &record,
                       std::optional<double> validation) const;

  llvm::raw_ostream &os;
  const ProgressOptions options;
  bool hasBar = false;
  /// The newest loss on validation data.
  std::optional<double> validation;
  /// The rate of steps alone, and the rate including everything between steps.
  RecentRate rate, progress;
  Clock::time_point start, last, shown;
};

} // namespace mp

#endif // MPOPT_API_TRAIN_TRAININGPROGRESS_H
