//===- RankAgreement.h - One run of several ranks ---------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_API_TRAIN_RANKAGREEMENT_H
#define MPOPT_LIB_API_TRAIN_RANKAGREEMENT_H

#include "ShardedStates.h"

#include "mp-opt/API/Train/TrainerOptions.h"

namespace mp {

/// The agreements between the ranks of a run. In a run of one, none is needed.
class RankAgreement {
public:
  /// Gives a rank its batches; only rank 0 keeps files and messages.
  static void configureRank(TrainerOptions &options);

  /// All arguments must outlive this.
  RankAgreement(const TrainerOptions &options, StepSession &session,
                ShardedStates &shards)
      : options(options), ranks(options.ranks), session(session),
        program(session.getProgram()), shards(shards) {}

  /// Compares the settings of the run, the hashes of the data and those that
  /// the options have, takes rank 0's states and `last`, and agrees on
  /// collectives of devices. Fails on all ranks if one differs.
  llvm::Error join(DataAttributes settings, const DataAttributes &dataHashes,
                   StepRecord &last);
  /// Connects devices that reduce over NCCL.
  llvm::Error connectDevices();

  /// True if any rank has been asked to stop. Ranks compare their states if
  /// they stop, if states are saved after this step (`isSaved`), and from time
  /// to time.
  llvm::Expected<bool> agreeOnStop(bool isStopped, bool isSaved);
  /// Returns the decision of rank 0, which writes checkpoints. It may find an
  /// end that other ranks do not see, e.g. a state that is not finite.
  llvm::Expected<std::optional<TrainingEnd>>
  agreeOnEnd(std::optional<TrainingEnd> end);

private:
  llvm::Error compareRuns(const DataAttributes &run);
  llvm::Error shareStates(StepRecord &last);
  void flipForTest();
  llvm::Error compareStates();
  llvm::Error refuseState(unsigned place, size_t rank);
  llvm::Error shareSums();

  const TrainerOptions &options;
  ProcessGroup *const ranks;
  StepSession &session;
  StepProgram &program;
  ShardedStates &shards;
};

} // namespace mp

#endif // MPOPT_LIB_API_TRAIN_RANKAGREEMENT_H
