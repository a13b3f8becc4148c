//===- CheckpointWriter.h - Writes checkpoints in a thread ------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_API_TRAIN_CHECKPOINTWRITER_H
#define MPOPT_API_TRAIN_CHECKPOINTWRITER_H

#include "mp-opt/Data/Checkpoint.h"

#include <future>

namespace mp {

/// Writes the checkpoints of a run to its folder, one after the other, in a
/// separate thread.
class CheckpointWriter {
public:
  CheckpointWriter(std::string folder, unsigned keep)
      : folder(std::move(folder)), keep(keep) {}

  /// Starts writing. The bytes of big states must not change until `wait`;
  /// small ones are copied. Fails as `finish` does.
  llvm::Error start(Checkpoint checkpoint);
  /// Waits until nothing is being written.
  void wait() const;
  /// Waits as well; fails if a checkpoint could not be written.
  llvm::Error finish();

  /// The step of the newest checkpoint in the folder, whoever wrote it.
  std::optional<uint64_t> getStep() const { return step; }
  void setStep(uint64_t known) { step = known; }

private:
  const std::string folder;
  const unsigned keep;
  std::optional<uint64_t> step;
  uint64_t pendingStep = 0;
  std::future<llvm::Error> pending;
};

} // namespace mp

#endif // MPOPT_API_TRAIN_CHECKPOINTWRITER_H
