//===- Recalibration.h - Ranges from a running training ---------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_API_TRAIN_RECALIBRATION_H
#define MPOPT_LIB_API_TRAIN_RECALIBRATION_H

#include "mp-opt/API/Train/TrainerOptions.h"

namespace mp {

/// Measures the forward pass of a run's step with `values`, the step's inputs,
/// on the next batches after `step` steps, and writes the ranges to the file of
/// the options. The step is read again (TrainerOptions::readStep).
llvm::Error recalibrate(const TrainerOptions &options, const TrainingStep &form,
                        Batches &batches, std::vector<Tensor> values,
                        uint64_t step);

} // namespace mp

#endif // MPOPT_LIB_API_TRAIN_RECALIBRATION_H
