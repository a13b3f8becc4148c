//===- TrainingStep.h - What makes a model a training step ------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_API_TRAININGSTEP_H
#define MPOPT_API_TRAININGSTEP_H

#include "mp-opt/API/Model.h"
#include "mp-opt/Training/Losses.h"

namespace mp {

// The names that mp-opt --train gives.
constexpr llvm::StringLiteral rateName = "learning_rate";

/// What is known of a step before it is compiled.
struct TrainingStep {
  std::vector<ModelValue> inputs;
  /// Of each input: the step hands it on, as its output NAME_new. Nodes that
  /// write over their inputs do so too; which these are, only the program
  /// knows.
  std::vector<bool> isState;

  /// Fails if the model has no loss, and says what makes a step of it.
  static llvm::Expected<TrainingStep>
  find(Model &model, const llvm::StringMap<int64_t> &dims);

  std::vector<ModelValue> getStates() const;
};

/// Takes away the outputs of a step that no run reads: all but the loss, what
/// it is a sum of, and states.
void dropUnreadOutputs(Model &model, const TrainingStep &step);

} // namespace mp

#endif // MPOPT_API_TRAININGSTEP_H
