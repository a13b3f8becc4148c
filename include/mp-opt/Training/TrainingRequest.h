//===- TrainingRequest.h - Settings of a training step ----------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_TRAINING_TRAININGREQUEST_H
#define MPOPT_TRAINING_TRAININGREQUEST_H

#include "mp-opt/Support/RequestField.h"

namespace mp {

/// The settings of a training step for a forward model. Without a loss, the
/// model's training_info describes the step.
struct TrainingRequest {
  std::vector<std::string> loss;
  int64_t classAxis = 1;
  /// Patterns of names, or @FILE.
  std::vector<std::string> trainOnly, freeze;
  /// "NAME,NAME" of initializers that become one parameter.
  std::vector<std::string> tie;
  /// Patterns of parameters of which each module gets a copy.
  std::vector<std::string> untie;
  /// Patterns of values that pass no gradient.
  std::vector<std::string> stopGradient;
  /// "NAME=SIZE" of named dimensions and of inputs that are whole numbers.
  std::vector<std::string> fixed;
  bool straightThrough = false;
  /// The optimizer with its settings: "adamw:beta2=0.95". "none" leaves
  /// gradients as outputs.
  std::string optimizer = "sgd";
  double learningRate = 0.001, weightDecay = 0;
  /// Bounds of the gradients; 0 for none.
  double clipNorm = 0, clipValue = 0;
  /// "REGEX:KEY=N,..." for the parameters of these names.
  std::vector<std::string> groups;
  /// "ema:decay=D", or empty.
  std::string average;
  /// The number of steps whose mean gradient makes one update.
  int64_t accumulate = 1;
  /// Gradients are reduced over all ranks that run the step.
  bool distribute = false;
  /// With `distribute`, BatchNormalization takes statistics of all ranks'
  /// batches.
  bool syncBatchNorm = false;

  static llvm::ArrayRef<RequestField<TrainingRequest>> getFields();
};

} // namespace mp

#endif // MPOPT_TRAINING_TRAININGREQUEST_H
