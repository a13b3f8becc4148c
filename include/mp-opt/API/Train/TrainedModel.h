//===- TrainedModel.h - Trained parameters in a model -----------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_API_TRAIN_TRAINEDMODEL_H
#define MPOPT_API_TRAIN_TRAINEDMODEL_H

#include "mp-opt/API/Train/TrainingStep.h"

namespace mp {

/// Replaces states by their averages where these exist. The averages are
/// removed from the result.
std::vector<NamedTensor> takeAverages(llvm::ArrayRef<NamedTensor> states);

/// Sets the initializers of `model` to the tensors of the same names; others
/// stay. Fails, naming the tensor, if types differ, or if no name matches.
llvm::Error setInitializers(Model &model, llvm::ArrayRef<NamedTensor> tensors);

/// Fails before a training if `writeTrained` would fail at its end because of
/// the path, or because `model` does not belong to the step.
llvm::Error checkTrained(Model *model, const TrainingStep &step,
                         llvm::StringRef path);

/// Writes states at the end of a training: a model with the states as its
/// initializers if `model` is set, else a data file.
llvm::Error writeTrained(Model *model, llvm::ArrayRef<NamedTensor> states,
                         llvm::StringRef path);

} // namespace mp

#endif // MPOPT_API_TRAIN_TRAINEDMODEL_H
