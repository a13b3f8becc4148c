//===- TrainerOptions.h - Options of training runs ---------------*- C++
//-*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_API_TRAIN_TRAINEROPTIONS_H
#define MPOPT_API_TRAIN_TRAINEROPTIONS_H

#include "mp-opt/API/Train/Batches.h"
#include "mp-opt/API/Train/LearningRate.h"
#include "mp-opt/API/Train/StepRecord.h"
#include "mp-opt/Collectives/ProcessGroup.h"

namespace mp {

struct TrainerOptions {
  CompileOptions compile;
  BatchOptions batches;
  LearningRate rate;
  /// The length of the run: `steps`, or `epochs` if `steps` is 0.
  uint64_t steps = 0, epochs = 1;
  /// The initial states: a file of parameters and other states by name, or a
  /// folder of checkpoints, of which the newest is used. States that are
  /// missing there, or all if this is empty, start with their defaults.
  std::string init;
  /// The folder of checkpoints; empty for none.
  std::string checkpoints;
  /// Steps between checkpoints, 0 for an epoch; and the number of checkpoints
  /// to keep.
  uint64_t every = 0, keep = 2;
  /// Continues from the newest intact checkpoint, if there is one, with bitwise
  /// equal results. Without this, checkpoints in the folder are an error.
  /// Another run that uses the folder is always an error.
  bool resume = false;
  /// The path of a log with a line of JSON for each step (TrainingLog); empty
  /// for none.
  std::string log;
  /// After this step, 0 for none, the ranges of values are measured on the next
  /// batches and written to the file `ranges`, for the next conversion.
  uint64_t recalibrateAt = 0;
  std::string ranges;
  /// True if the model has averages of its parameters, which are the result.
  bool average = false;
  /// Data on which the loss is evaluated at the end of each epoch and of the
  /// run; with the averages, if these are the result.
  std::optional<DataSet> validation;
  /// The process group of a run with several ranks; null for a single rank.
  /// Each rank trains on its own batches with a step that reduces gradients
  /// (mp-opt --distribute). Rank 0 reads and writes files.
  ProcessGroup *ranks = nullptr;
  /// Each rank keeps and updates a range of the optimizer's states
  /// (Training/Sharding.h).
  bool shardOptimizer = false;
  /// Reads the step again to find out where a run has diverged; null if that is
  /// not wanted.
  std::function<llvm::Expected<std::unique_ptr<Model>>()> readStep;
  /// Receive messages about unused data, data that are not compared, incomplete
  /// checkpoints, and skipped steps.
  std::function<void(const llvm::Twine &text)> onWarning, onNote;
};

/// Callbacks that observe a run; both may be empty.
struct TrainingObserver {
  /// Called after each step. An error ends the run and is returned unchanged.
  std::function<llvm::Error(const StepRecord &record)> onStep;
  /// Called after each step: true ends the run, with a checkpoint.
  std::function<bool()> shouldStop;
};

enum class TrainingEnd {
  /// All steps are done.
  Finished,
  /// The observer stopped the run.
  Stopped,
  /// The loss or a state is no longer finite. There is no checkpoint of this
  /// state.
  Diverged,
  /// All steps are done, and none has changed a parameter. There is a
  /// checkpoint if they are enabled.
  Unchanged,
};

} // namespace mp

#endif // MPOPT_API_TRAIN_TRAINEROPTIONS_H
