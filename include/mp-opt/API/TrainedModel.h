//===- TrainedModel.h - Trained parameters in a model -----------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_API_TRAINEDMODEL_H
#define MPOPT_API_TRAINEDMODEL_H

#include "mp-opt/API/TrainingStep.h"

namespace mp {

/// The states with averages in the places of what they are averages of: as many
/// as before if there are none.
std::vector<NamedTensor> takeAverages(llvm::ArrayRef<NamedTensor> states);

/// Gives the initializers of `model` the elements of the tensors of their
/// names; others stay. Fails, naming the tensor, where types differ, or if no
/// name is the same.
llvm::Error setInitializers(Model &model, llvm::ArrayRef<NamedTensor> tensors);

/// Fails, before a training, where `writeTrained` would at its end: because of
/// the path, or because `model` is none of the step's.
llvm::Error checkTrained(Model *model, const TrainingStep &step,
                         llvm::StringRef path);

/// Writes states at the end of a training: the model with them as its
/// initializers, if there is one, else a data file.
llvm::Error writeTrained(Model *model, llvm::ArrayRef<NamedTensor> states,
                         llvm::StringRef path);

} // namespace mp

#endif // MPOPT_API_TRAINEDMODEL_H
