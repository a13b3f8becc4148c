//===- Trainer.h - Step after step ------------------------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_TOOLS_TRAINER_H
#define MPOPT_TOOLS_TRAINER_H

#include "Batches.h"
#include "LearningRate.h"
#include "TrainingLog.h"

#include "mp-opt/Data/Checkpoint.h"
#include "mp-opt/Execution/Program.h"

namespace mp {

struct TrainerOptions {
  LearningRate rate;
  /// Steps to be made in all.
  uint64_t total = 0;
  /// Empty for none.
  std::string checkpoints;
  uint64_t every = 0, keep = 2;
  /// Of the model's file.
  std::string model;
};

/// Runs a training step again and again, and hands its states on.
class Trainer {
public:
  Trainer(Program &program, Batches &batches, TrainerOptions options)
      : program(program), batches(batches), options(std::move(options)) {}

  /// Finds the step's states, loss and learning rate, and fills the states with
  /// their defaults. Fails if the model is no training step.
  llvm::Error start();
  /// Replaces states by those of the same names.
  llvm::Error setStates(llvm::ArrayRef<NamedTensor> states, bool needsAll);
  /// Goes on where the newest whole checkpoint is; false if there is none.
  llvm::Expected<bool> resume(TrainingLog &log);

  /// Makes the remaining steps. Returns an exit code; errors are for files and
  /// for what the model refuses.
  llvm::Expected<int> run(TrainingLog &log);

  uint64_t getStep() const { return step; }
  const StepRecord &getLast() const { return last; }
  std::vector<NamedTensor> getStates() const;

private:
  llvm::Error setRate();
  llvm::Error makeStep();
  void readParts();
  llvm::Error writeCheckpoint();
  DataAttributes getSettings() const;
  llvm::Error checkSettings(const Checkpoint &checkpoint) const;
  std::optional<double> getScalar(llvm::StringRef state) const;
  std::string describeDivergence() const;

  Program &program;
  Batches &batches;
  TrainerOptions options;
  std::vector<Tensor> inputs;
  llvm::SmallVector<Tensor> outputs;
  /// Indices of inputs.
  std::vector<unsigned> states;
  std::optional<unsigned> rateInput;
  unsigned lossOutput = 0;
  uint64_t step = 0;
  std::optional<uint64_t> written;
  StepRecord last;
};

} // namespace mp

#endif // MPOPT_TOOLS_TRAINER_H
