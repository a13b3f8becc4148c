//===- StepSession.h - Training steps, one by one ---------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_API_TRAIN_STEPSESSION_H
#define MPOPT_API_TRAIN_STEPSESSION_H

#include "mp-opt/API/Train/LearningRate.h"
#include "mp-opt/API/Train/StepProgram.h"
#include "mp-opt/Data/Checkpoint.h"

namespace mp {

/// A compiled training step that counts its calls and follows a schedule of
/// learning rates. The caller sets the batch.
class StepSession {
public:
  /// Compiles `model` as StepProgram::create does. `content` is the hash of the
  /// model's file, by which checkpoints name it.
  static llvm::Expected<std::unique_ptr<StepSession>>
  create(Model &model, CompileOptions options, std::string content);

  /// Sets the rates of `total` steps; of any number of steps if it is 0. A rate
  /// without a base gets the step's default. Fails if the step has no input for
  /// rates, which are given; errors name the option of the base, `flag`.
  llvm::Error setSchedule(LearningRate rate, uint64_t total,
                          llvm::StringRef flag);
  const LearningRate &getSchedule() const { return schedule; }
  uint64_t getTotal() const { return total; }

  StepProgram &getProgram() { return *program; }
  const StepProgram &getProgram() const { return *program; }
  const std::string &getContent() const { return content; }
  /// The number of steps done.
  uint64_t getCount() const { return count; }
  void setCount(uint64_t done) { count = done; }
  /// The newest rate that was set; absent before, and if steps have no rate.
  std::optional<double> getRate() const { return rate; }

  /// Sets the rate of the next step: that of the schedule, or `own`. Fails if
  /// the step has no input for `own`, or if it is negative or not finite.
  llvm::Error setRate(std::optional<double> own = std::nullopt);
  /// Runs the next step with the random numbers of `number`. If there is a
  /// `doubt` that its inputs fit, states are restored when it fails, and the
  /// error begins with the doubt. `meanwhile` is as for Program::run, and is
  /// not called if there is a doubt.
  llvm::Error run(int64_t number, llvm::StringRef doubt = "",
                  MeanwhileFn meanwhile = nullptr);

  /// A checkpoint with the number of steps, the model and `states`.
  Checkpoint makeCheckpoint(std::vector<NamedTensor> states) const;
  /// Writes the states to a data file, or a checkpoint to a folder of up to
  /// `keep` checkpoints (at least 1).
  llvm::Error save(llvm::StringRef path, unsigned keep);
  /// Reads states from a data file, or all states and the number of steps from
  /// the newest intact checkpoint in a folder. Fails if that belongs to another
  /// model.
  llvm::Error
  load(llvm::StringRef path,
       llvm::function_ref<void(const llvm::Twine &warning)> onWarning);

private:
  StepSession(std::unique_ptr<StepProgram> program, std::string content)
      : program(std::move(program)), content(std::move(content)) {}
  llvm::Error runDoubtful(int64_t number, llvm::StringRef doubt);

  std::unique_ptr<StepProgram> program;
  const std::string content;
  LearningRate schedule;
  uint64_t total = 0, count = 0;
  std::optional<double> rate;
};

} // namespace mp

#endif // MPOPT_API_TRAIN_STEPSESSION_H
