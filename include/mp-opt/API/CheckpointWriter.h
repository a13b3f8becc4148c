//===- CheckpointWriter.h - Checkpoints beside a run's steps ---*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_API_CHECKPOINTWRITER_H
#define MPOPT_API_CHECKPOINTWRITER_H

#include "mp-opt/Data/Checkpoint.h"

#include <future>

namespace mp {

/// Writes the checkpoints of a run to its folder, one after the other, by a
/// thread of its own.
class CheckpointWriter {
public:
  CheckpointWriter(std::string folder, unsigned keep)
      : folder(std::move(folder)), keep(keep) {}

  /// Begins to write. The bytes of states stay as they are until `wait`, but
  /// those of small ones, which are copied. Fails as `finish` does.
  llvm::Error start(Checkpoint checkpoint);
  /// Until nothing is being written.
  void wait() const;
  /// The same; fails if what was being written could not be.
  llvm::Error finish();

  /// Of the newest checkpoint that is there, by this or by who wrote before.
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

#endif // MPOPT_API_CHECKPOINTWRITER_H
