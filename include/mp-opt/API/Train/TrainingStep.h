//===- TrainingStep.h - Training steps before compilation -------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_API_TRAIN_TRAININGSTEP_H
#define MPOPT_API_TRAIN_TRAININGSTEP_H

#include "mp-opt/API/Model/Model.h"
#include "mp-opt/Training/Losses.h"

namespace mp {

// Names used by mp-opt --train.
constexpr llvm::StringLiteral rateName = "learning_rate";

/// Properties of a step that are known before it is compiled.
struct TrainingStep {
  std::vector<ModelValue> inputs;
  /// Indexed by input: true if the step returns the input's next value as
  /// output NAME_new. Inputs that nodes update in place are also states, but
  /// only the program knows which ones these are.
  std::vector<bool> isState;

  /// Fails if the model has no loss. The error explains how to make a step of
  /// it.
  static llvm::Expected<TrainingStep>
  find(Model &model, const llvm::StringMap<int64_t> &dims);

  std::vector<ModelValue> getStates() const;
};

/// Removes the outputs of a step that no run reads: all but the loss, its
/// parts, and states.
void dropUnreadOutputs(Model &model, const TrainingStep &step);

/// Does the same if the model is a training step: if it has a loss and a state.
/// Leaves other models as they are. Fails if an input has an unknown type.
llvm::Error computeLikeTraining(Model &model,
                                const llvm::StringMap<int64_t> &dims);

} // namespace mp

#endif // MPOPT_API_TRAIN_TRAININGSTEP_H
