//===- Optimizers.h - Optimizers that a training step may have --*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The update rules of torch.optim, and LAMB as published: w the parameter, g
// its gradient, t the number of the step (from 1), lr the learning rate, wd
// the weight decay.
//
//   sgd       w -= lr (g + wd w)
//   momentum  v = momentum v + g + wd w;  w -= lr v
//   nesterov  v as in momentum;  w -= lr (g + wd w + momentum v)
//   adam      m, s: decaying means of g + wd w and of its square
//             w -= lr m / (1 - beta1^t) / (sqrt(s / (1 - beta2^t)) + eps)
//   lazy-adam as adam; if only Gather reads a parameter, its rows with a
//             gradient of zero keep m, s and w, as in torch.optim.SparseAdam;
//             t counts all steps
//   adamw     as adam with g instead of g + wd w, after w -= lr wd w
//             with mode=1, as in Hugging Face and onnxruntime:
//             w -= lr m / (1 - beta1^t) sqrt(1 - beta2^t) / (sqrt(s) + eps),
//             then the decay
//   adagrad   s += (g + wd w)^2;  w -= lr (g + wd w) / (sqrt(s) + eps)
//   lamb      r = m / (1 - beta1^t) / (sqrt(s / (1 - beta2^t)) + eps) + wd w
//             w -= lr r |w| / |r|   (the quotient is 1 if a norm is zero)
//
// An average of w is w after the first update, then a += (1 - decay) (w - a)
// after each, as in torch.optim.swa_utils.get_ema_multi_avg_fn.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_TRAINING_OPTIMIZERS_H
#define MPOPT_TRAINING_OPTIMIZERS_H

#include "mp-opt/Dialect/ONNX/GraphEditor.h"
#include "mp-opt/Graph/NodeBuilder.h"

#include "llvm/ADT/BitVector.h"
#include "llvm/Support/Error.h"

#include <memory>

namespace mp {

/// States of a step that accumulates batches: the number of accumulated steps
/// and, per parameter, the sum of gradients (its name is the parameter's, a dot
/// and this suffix).
inline constexpr llvm::StringLiteral accumulatedSteps = "accumulated_steps";
inline constexpr llvm::StringLiteral accumulatedSum = "accumulated";

/// True if the name of a state is that of such a sum.
inline bool isAccumulatedSum(llvm::StringRef state) {
  return state.consume_back(accumulatedSum) && state.ends_with(".");
}

class NameRegex;
struct OptimizerRule;

/// Settings for parameters whose names match a pattern.
struct ParameterGroup {
  /// The text as it was given, and its pattern.
  std::string text, pattern;
  std::shared_ptr<const NameRegex> regex;
  /// weight-decay, lr or lr-scale, and numbers of the optimizer.
  llvm::StringMap<double> numbers;
};

struct OptimizerSettings {
  const OptimizerRule *rule = nullptr;
  double learningRate = 0;
  double weightDecay = 0;
  /// momentum, beta1, beta2, eps and mode, as far as the rule has them.
  llvm::StringMap<double> numbers;
  /// Gradients are scaled so that their total norm is at most this; 0 for no
  /// limit.
  double clipNorm = 0;
  /// Before that, elements of gradients are limited to this magnitude; 0 for no
  /// limit.
  double clipValue = 0;
  /// The number of steps whose gradients are averaged for one update.
  int64_t accumulate = 1;
  /// Settings of all groups that match are combined; if several give the same
  /// setting, the last one counts.
  std::vector<ParameterGroup> groups;
  /// The decay of a moving average of the parameters; absent if there is none.
  std::optional<double> averageDecay;
  /// The ratio of the parameter's learning rate to that of the step.
  double rateFactor = 1;

  /// Parses a name and, after a colon, numbers: "adamw:beta2=0.95,eps=1e-6".
  /// Fails for names and numbers that the optimizer does not have, and for
  /// values out of range.
  llvm::Error parse(llvm::StringRef text);
  /// Adds a group for the optimizer that was parsed: "REGEX:key=value,...",
  /// with or without braces. A rate `lr` applies to steps with the rate
  /// `learningRate`; it changes in proportion to the rate of the step.
  llvm::Error addGroup(llvm::StringRef text);
  /// Parses "ema", with or without a number as in "ema:decay=0.99"; an empty
  /// text means no average.
  llvm::Error parseAverage(llvm::StringRef text);
  /// The settings for the parameter of this name; sets a bit of `used` for each
  /// group that matches.
  OptimizerSettings forParameter(llvm::StringRef name,
                                 llvm::BitVector &used) const;
};

/// Names of the optimizers, for messages.
std::string getOptimizerNames();

/// Reads every `mp.gradient` of the graph, in order. States of the optimizer,
/// its step count and the learning rate become inputs, states with zeros as
/// default; new values of parameters and states become outputs. Fails, with an
/// error at the graph, for a group that matches no parameter.
mlir::LogicalResult addOptimizer(onnxir::GraphOp graph, NodeBuilder &builder,
                                 const OptimizerSettings &settings);

} // namespace mp

#endif // MPOPT_TRAINING_OPTIMIZERS_H
