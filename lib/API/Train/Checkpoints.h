//===- Checkpoints.h - Saves and resumes a run ------------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_API_TRAIN_CHECKPOINTS_H
#define MPOPT_LIB_API_TRAIN_CHECKPOINTS_H

#include "RunData.h"
#include "RunStates.h"

#include "mp-opt/Data/CheckpointLock.h"

namespace mp {

/// The checkpoints of a run, in the folder of its options.
class Checkpoints {
public:
  /// Locks the folder. Fails if another run holds it, or if it has checkpoints
  /// of a run that is not resumed.
  static llvm::Expected<CheckpointLock> lock(const TrainerOptions &options);

  /// Holds `lock` for as long as this exists. `content` is the hash of the
  /// model's file. All other arguments must outlive this.
  Checkpoints(const TrainerOptions &options, CheckpointLock lock,
              const Batches &batches, RunData &data, std::string content);

  /// Reads the newest intact checkpoint, if there is one, before the step is
  /// compiled. Fails if it belongs to another model or to other batches.
  llvm::Error readNewest();
  /// Sets the compiled step and its states, which must outlive this.
  void setStates(StepSession &compiled, RunStates &all);
  /// If a checkpoint was read, sets the states and the count of steps to its
  /// own, and gives its losses. Fails if it has other settings or data.
  llvm::Error resume(StepRecord &last, std::optional<double> &validation);

  /// Settings that a checkpoint must match.
  DataAttributes getSettings() const;
  /// The hash of the model's file.
  const std::string &getContent() const { return content; }
  /// The step of the newest checkpoint in the folder.
  std::optional<uint64_t> getStep() const { return writer.getStep(); }
  const CheckpointWriter &getWriter() const { return writer; }
  /// A file named `stop` next to the checkpoints also stops the run, for users
  /// who cannot send a signal, e.g. because the launcher would end the run at
  /// once. The file is removed.
  bool takeStopFile() const;

  /// Writes a checkpoint, unless there is one of this step. Steps on a device
  /// continue meanwhile, since they change other memory.
  llvm::Error write(const StepRecord &last, std::optional<double> validation);
  /// Writes a checkpoint to another folder, and waits for it.
  llvm::Error writeTo(llvm::StringRef folder, const StepRecord &last,
                      std::optional<double> validation);
  /// Waits for writes; fails if one has failed.
  llvm::Error finish() { return writer.finish(); }

private:
  llvm::Error checkOrigin(const Checkpoint &checkpoint) const;
  llvm::Error checkSettings(const Checkpoint &checkpoint) const;
  llvm::Error convert(Checkpoint &checkpoint) const;
  llvm::Error load(Checkpoint &checkpoint);
  llvm::Expected<Checkpoint> make(const StepRecord &last,
                                  std::optional<double> validation);

  const TrainerOptions &options;
  const Batches &batches;
  RunData &data;
  const std::string content;
  const CheckpointLock held;
  CheckpointWriter writer;
  /// The checkpoint to resume from, until it is loaded.
  std::optional<Checkpoint> newest;
  StepSession *session = nullptr;
  RunStates *states = nullptr;
  /// The hash of the parts that other steps of the same model may share; empty
  /// without checkpoints.
  std::string stateHash;
};

/// Reads the states that a run begins with: from a file, a checkpoint, or the
/// newest one of a folder, `init`.
llvm::Expected<std::vector<NamedTensor>>
readInitStates(const TrainerOptions &options);

} // namespace mp

#endif // MPOPT_LIB_API_TRAIN_CHECKPOINTS_H
