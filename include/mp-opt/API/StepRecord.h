//===- StepRecord.h - What training steps give ------------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_API_STEPRECORD_H
#define MPOPT_API_STEPRECORD_H

#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

#include <optional>
#include <string>
#include <vector>

namespace mp {

struct StepRecord {
  /// Steps made, this one included, and epochs that were over before it.
  uint64_t step = 0, epoch = 0;
  double loss = 0;
  /// Of a loss that is a sum, by the names of its parts.
  std::vector<std::pair<std::string, double>> parts;
  /// The learning rate, the loss scale, and how many steps it has skipped;
  /// absent where the model has none.
  std::optional<double> rate, scale, skipped;
  /// The loss on validation data, where they were evaluated after this step.
  std::optional<double> validation;

  /// Not part of a log, which says the same of a run whether it was stopped
  /// on its way or not. The mean of the finite losses of this epoch so far, as
  /// far as this run has made it; and what the step took, its batch included,
  /// but no checkpoint and no evaluation.
  double epochLoss = 0, seconds = 0;

  void printJSON(llvm::json::OStream &json) const;
};

/// What a run has come to.
struct TrainingResult {
  StepRecord last;
  /// The newest; absent without validation data.
  std::optional<double> validation;
  /// Steps that this run has made, and rows in each; 0 if batches are not made
  /// of rows.
  uint64_t made = 0, rows = 0;
  /// Of the whole run without compilation, and of the steps alone.
  double seconds = 0, stepSeconds = 0;
  /// How many ranks have made the steps, and what one of them has sent: bytes,
  /// the time that took, and that of waiting for it.
  uint64_t ranks = 1, sentBytes = 0;
  double sendSeconds = 0, exposedSeconds = 0;

  double getStepsPerSecond() const;
  /// "steps 40  epochs 5  loss 0.25  1.2 s  33 steps/s".
  void print(llvm::raw_ostream &os) const;
  void printJSON(llvm::raw_ostream &os) const;
};

/// "33.1 steps/s", or, of steps of a number of rows, "1060 examples/s".
std::string describeSpeed(double stepsPerSecond, uint64_t rows);

} // namespace mp

#endif // MPOPT_API_STEPRECORD_H
