//===- RunHealth.h - Judges the losses and states of a run ------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_API_TRAIN_RUNHEALTH_H
#define MPOPT_LIB_API_TRAIN_RUNHEALTH_H

#include "RunStates.h"

#include "mp-opt/API/Train/TrainerOptions.h"

namespace mp {

/// Judges after each step whether the run has diverged, and at its end whether
/// it has changed anything.
class RunHealth {
public:
  /// `last` is the record of the newest step. All arguments must outlive this.
  RunHealth(StepSession &session, ShardedStates &shards, RunStates &states,
            const StepRecord &last, const TrainerOptions &options)
      : session(session), program(session.getProgram()), shards(shards),
        states(states), last(last), options(options) {}

  /// Called before the first step of this run.
  void noteStart();
  uint64_t getFirstStep() const { return firstStep; }
  /// Called after each step, with the number of skipped steps before it. All
  /// ranks call it, since whole states may be needed.
  llvm::Error judge(std::optional<double> skippedBefore);
  bool hasDiverged() const;
  /// True if the last loss is a finite number, or none because it is a mean
  /// over nothing.
  bool hasUsableLoss() const;
  /// True as well if the loss belongs to an open window that will be skipped.
  bool isWorthKeeping() const { return hasUsableLoss() || isPending; }
  /// False if a state is no longer finite, which `describeDivergence` then
  /// mentions. Fails if a device does not return the states.
  llvm::Expected<bool> hasFiniteStates();

  /// The end of a run after its last step, when the states have been fetched.
  llvm::Expected<TrainingEnd> checkChanges();

  /// "the loss of step 12 is NaN; `origin`", if an origin is given.
  std::string describeDivergence(llvm::StringRef origin) const;
  /// Explains why no step has changed a parameter, and how to fix that.
  std::string describeUnchanged() const;

private:
  void countSkipped(std::optional<double> before);
  llvm::Error judgeLoss();
  void warnOfVoid();

  StepSession &session;
  StepProgram &program;
  ShardedStates &shards;
  RunStates &states;
  const StepRecord &last;
  const TrainerOptions &options;
  /// The number of consecutive skipped steps up to the last one.
  unsigned skippedInRow = 0;
  /// Counts before the first step of this run: steps, those that were
  /// skipped, and hashes of float states, without and with sums of accumulated
  /// gradients.
  uint64_t firstStep = 0;
  double skippedAtStart = 0;
  std::array<std::optional<uint64_t>, 2> hashesAtStart;
  /// True if the last loss is not finite but all states are, as for a mean over
  /// nothing; and the number of such steps in a row.
  bool isVoid = false;
  unsigned voidInRow = 0;
  bool hasWarnedOfVoid = false;
  /// The last loss and sums of its open window are not finite. The update of
  /// this window will be skipped.
  bool isPending = false;
  /// True if a loss of the window up to the last step, or of this step, is not
  /// finite; and if the step before the next one leaves its window open.
  bool hasInfiniteLoss = false, wasWindowOpen = false;
  /// The name of the state that is no longer finite; empty if there is none.
  std::string infiniteState;
};

} // namespace mp

#endif // MPOPT_LIB_API_TRAIN_RUNHEALTH_H
