//===- NextBatch.h - Copies a batch during the step before ------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_API_TRAIN_NEXTBATCH_H
#define MPOPT_LIB_API_TRAIN_NEXTBATCH_H

#include "mp-opt/API/Train/Batches.h"
#include "mp-opt/API/Train/StepSession.h"

namespace mp {

/// Loads the batches of a session's steps. On a device, large inputs of the
/// next step are loaded and copied while it works on a step
/// (Program::setNextInput).
class NextBatch {
public:
  /// `total` is the number of steps of the run.
  NextBatch(Batches &batches, StepSession &session, uint64_t total)
      : batches(batches), session(session), program(session.getProgram()),
        total(total) {}

  /// Allocates buffers on the device, once. If there is no memory for them,
  /// batches are copied before steps, after a warning.
  llvm::Error
  prepare(const std::function<void(const llvm::Twine &text)> &onWarning);

  /// Loads the batch of the session's next step, of which large inputs may have
  /// been copied.
  llvm::Error load();
  /// Copies what can be copied of the batch of the step after it; called while
  /// the device works on that step.
  llvm::Error copyNext();
  /// Undoes that, and waits for copies.
  llvm::Error drop();

private:
  /// Loads and copies large inputs of a step.
  llvm::Error copy(uint64_t step);
  bool takes(unsigned input) const {
    return program.getProgram().takesNextInput(input);
  }

  Batches &batches;
  StepSession &session;
  StepProgram &program;
  const uint64_t total;
  bool isPrepared = false;
  /// The step whose large inputs have been copied.
  std::optional<uint64_t> copied;
};

} // namespace mp

#endif // MPOPT_LIB_API_TRAIN_NEXTBATCH_H
