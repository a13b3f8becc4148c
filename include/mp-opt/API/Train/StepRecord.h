//===- StepRecord.h - Results of training steps -----------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_API_TRAIN_STEPRECORD_H
#define MPOPT_API_TRAIN_STEPRECORD_H

#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

#include <optional>
#include <string>
#include <vector>

namespace mp {

struct StepRecord {
  /// The number of steps done, including this one, and of epochs completed
  /// before it.
  uint64_t step = 0, epoch = 0;
  double loss = 0;
  /// The parts of a loss that is a sum, by name.
  std::vector<std::pair<std::string, double>> parts;
  /// The learning rate, the loss scale, and the number of skipped steps; absent
  /// if the model has none.
  std::optional<double> rate, scale, skipped;
  /// The loss on validation data, if evaluated after this step.
  std::optional<double> validation;

  /// Values that are not written to logs, which must be equal for interrupted
  /// and uninterrupted runs. `epochLoss` is the mean of the finite losses of
  /// this epoch as far as this run has made it. `seconds` is the time of the
  /// step with its batch, but without checkpoints and evaluation.
  double epochLoss = 0, seconds = 0;

  void printJSON(llvm::json::OStream &json) const;
};

/// The summary of a run.
struct TrainingResult {
  StepRecord last;
  /// The newest loss on validation data; absent without such data.
  std::optional<double> validation;
  /// Steps done by this run, and rows in each; 0 if batches are not made of
  /// rows.
  uint64_t made = 0, rows = 0;
  /// The time of the whole run without compilation, and of the steps alone.
  double seconds = 0, stepSeconds = 0;
  /// The number of ranks, and the communication of one of them: the bytes sent,
  /// the time of sending, and the time of waiting for it.
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

#endif // MPOPT_API_TRAIN_STEPRECORD_H
