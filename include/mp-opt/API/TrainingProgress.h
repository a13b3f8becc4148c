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
#include <functional>

namespace mp {

/// Events in a second, of the last ten seconds or so: older ones count ever
/// less.
class RecentRate {
public:
  /// One event, which took so long.
  void add(double seconds);
  /// 0 before the first.
  double get() const { return time > 0 ? events / time : 0; }

private:
  double events = 0, time = 0;
};

struct ProgressOptions {
  /// A line that is written over, and one that stays for each epoch (of many,
  /// for some); else ten lines or so a run.
  bool isBar = false;
  bool isColored = false;
  /// Of the terminal, at any time; null or 0 if nobody knows.
  std::function<unsigned()> getColumns;
  /// In all, some of which may have been made before; in an epoch; and rows in
  /// a step, 0 if there are none.
  uint64_t steps = 0, stepsPerEpoch = 1, rows = 0;
};

/// Says how far a run is, how long it will take, and what the loss is, as a
/// mean over the epoch so far. Time runs from its creation on.
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
  /// Of steps alone, and with all that lies between them.
  RecentRate rate, progress;
  Clock::time_point start, last, shown;
};

} // namespace mp

#endif // MPOPT_API_TRAININGPROGRESS_H
