//===- Trainer.h - Step after step ------------------------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_API_TRAIN_TRAINER_H
#define MPOPT_API_TRAIN_TRAINER_H

#include "mp-opt/API/Model/Model.h"
#include "mp-opt/API/Train/TrainerOptions.h"

namespace mp {

/// Runs a training step again and again, and hands its states on.
class Trainer {
public:
  ~Trainer();

  /// Compiles `step` for batches of `data`, and initializes its states. Fails
  /// if the model is not a training step as made by mp-opt --train, or if data,
  /// states or the checkpoint do not fit it.
  static llvm::Expected<std::unique_ptr<Trainer>>
  create(std::unique_ptr<Model> step, const DataSet &data,
         TrainerOptions options);

  /// Replaces states by those of the same names; the others stay.
  llvm::Error setStates(llvm::ArrayRef<NamedTensor> states);

  /// Must be called before `run` if there are several ranks: they compare their
  /// settings and take rank 0's states. Fails on all ranks if one differs.
  llvm::Error joinRanks();
  /// Connects devices that reduce over NCCL; called after `joinRanks`. Fails on
  /// the rank that cannot connect.
  llvm::Error connectDevices();

  /// Runs the remaining steps. Fails on file errors and if the model refuses
  /// its inputs.
  llvm::Expected<TrainingEnd> run(const TrainingObserver &observer = {});

  /// The number of steps done, including those of a resumed run, and the total
  /// number of steps.
  uint64_t getStep() const;
  uint64_t getTotal() const;
  /// The step of the newest checkpoint of this run.
  std::optional<uint64_t> getCheckpointStep() const;
  const StepRecord &getLast() const;
  /// Steps in an epoch, and rows in a step, of all ranks together, 0 if batches
  /// are not made of rows.
  uint64_t getEpochSteps() const;
  uint64_t getBatchSize() const;
  /// The bytes of sharded optimizer states: those of this rank, and those of
  /// all.
  std::pair<uint64_t, uint64_t> getShardedBytes() const;
  /// Null for a run of one.
  const ProcessGroup *getRanks() const;
  /// The newest loss on validation data, and the time that this run's steps
  /// took.
  std::optional<double> getValidation() const;
  double getStepSeconds() const;
  /// "the loss of step 12 is NaN; the last checkpoint is that of step 8".
  std::string describeDivergence() const;
  /// Explains why no step has changed a parameter, and how to fix that.
  std::string describeUnchanged() const;

  /// Writes a checkpoint of the states as they are, wherever that is: for runs
  /// that ended before they could be kept.
  llvm::Error writeCheckpoint(llvm::StringRef folder);
  /// True if a step has failed on its way: it may have changed some states.
  bool isStepBroken() const;
  /// False if a state is no longer finite, which `describeDivergence` then
  /// mentions. Fails if a device does not return the states.
  llvm::Expected<bool> hasFiniteStates();

  /// Parameters and all other states. They share memory with the trainer, whose
  /// steps overwrite it. Fails if a device does not return them.
  llvm::Expected<std::vector<NamedTensor>> getStates() const;
  /// Returns the same or, if requested, the averages in place of the
  /// parameters.
  llvm::Expected<std::vector<NamedTensor>> getResult() const;

private:
  struct Impl;
  explicit Trainer(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl;
};

} // namespace mp

#endif // MPOPT_API_TRAIN_TRAINER_H
