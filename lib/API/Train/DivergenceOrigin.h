//===- DivergenceOrigin.h - Finds the origin of a divergence ----*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_API_TRAIN_DIVERGENCEORIGIN_H
#define MPOPT_LIB_API_TRAIN_DIVERGENCEORIGIN_H

#include "mp-opt/API/Train/StepSession.h"
#include "mp-opt/API/Train/TrainerOptions.h"
#include "mp-opt/API/Train/TrainingStep.h"

namespace mp {

/// A run that has diverged with its last step.
struct DivergedRun {
  const TrainerOptions &options;
  const TrainingStep &form;
  Batches &batches;
  StepSession &session;
  /// The step of the newest checkpoint of the run, if there is one.
  std::optional<uint64_t> checkpointStep;
  /// The mean time of its steps.
  double secondsPerStep;
};

/// "in step 3, 'y' of node 'Mul' is the first result that is not finite; ...",
/// or how to find out; empty if that is unknown. Steps are repeated: states and
/// the count of steps are others afterwards. Needs options.readStep, and all
/// states.
llvm::Expected<std::string> findOrigin(const DivergedRun &run);

} // namespace mp

#endif // MPOPT_LIB_API_TRAIN_DIVERGENCEORIGIN_H
