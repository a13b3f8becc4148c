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
//   nesterov  the same v;  w -= lr (g + wd w + momentum v)
//   adam      m, s: decaying means of g + wd w and of its square
//             w -= lr m / (1 - beta1^t) / (sqrt(s / (1 - beta2^t)) + eps)
//   lazy-adam the same, as torch.optim.SparseAdam: of a parameter that Gather
//             looks rows up in, and nothing else reads, rows with a gradient of
//             zero keep m, s and w; t counts all steps
//   adamw     the same of g alone, after w -= lr wd w
//             with mode=1, as Hugging Face and onnxruntime have it:
//             w -= lr m / (1 - beta1^t) sqrt(1 - beta2^t) / (sqrt(s) + eps),
//             then the decay
//   adagrad   s += (g + wd w)^2;  w -= lr (g + wd w) / (sqrt(s) + eps)
//   lamb      r = m / (1 - beta1^t) / (sqrt(s / (1 - beta2^t)) + eps) + wd w
//             w -= lr r |w| / |r|   (the quotient is 1 where a norm is zero)
//
// An average of w is w after the first update, then a += (1 - decay) (w - a)
// after each, as torch.optim.swa_utils.get_ema_multi_avg_fn has it.
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

/// States of a step that accumulates batches: how many there are, and of each
/// parameter, behind its name and a dot, the sum of gradients.
inline constexpr llvm::StringLiteral accumulatedSteps = "accumulated_steps";
inline constexpr llvm::StringLiteral accumulatedSum = "accumulated";

/// Whether a state is such a sum, by its name.
inline bool isAccumulatedSum(llvm::StringRef state) {
  return state.consume_back(accumulatedSum) && state.ends_with(".");
}

class NameRegex;
struct OptimizerRule;

/// Settings of the parameters whose names match.
struct ParameterGroup {
  /// As it was given, and its pattern.
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
  /// Gradients are scaled so that the norm of all of them together is not
  /// more; 0 for no limit.
  double clipNorm = 0;
  /// Before that no element of a gradient has a greater size; 0 for no limit.
  double clipValue = 0;
  /// Steps whose gradients are averaged for one update.
  int64_t accumulate = 1;
  /// Of several that match, each adds what it says; the last one counts where
  /// they say the same.
  std::vector<ParameterGroup> groups;
  /// Of a moving average of the parameters; absent if there is none.
  std::optional<double> averageDecay;
  /// The parameter's learning rate, over that of the step.
  double rateFactor = 1;

  /// `text` is a name and, behind a colon, numbers:
  /// "adamw:beta2=0.95,eps=1e-6". Fails for names and numbers that the
  /// optimizer does not have, and for values out of range.
  llvm::Error parse(llvm::StringRef text);
  /// Adds a group for the optimizer that was parsed: "REGEX:key=value,...",
  /// maybe in braces. A rate `lr` is that of steps whose own is `learningRate`;
  /// it changes with that of the step.
  llvm::Error addGroup(llvm::StringRef text);
  /// "ema", with a number as in "ema:decay=0.99"; nothing for no average.
  llvm::Error parseAverage(llvm::StringRef text);
  /// What holds for the parameter of this name; sets a bit of `used` for each
  /// group that matches.
  OptimizerSettings forParameter(llvm::StringRef name,
                                 llvm::BitVector &used) const;
};

/// Names of the optimizers, for messages.
std::string getOptimizerNames();

/// Reads every `mp.gradient` of the graph, in order: makes states of the
/// optimizer inputs with zeros as default, its step count and the learning
/// rate too, and new values of parameters and states outputs. Fails, with an
/// error at the graph, for a group that matches no parameter.
mlir::LogicalResult addOptimizer(onnxir::GraphOp graph, NodeBuilder &builder,
                                 const OptimizerSettings &settings);

} // namespace mp

#endif // MPOPT_TRAINING_OPTIMIZERS_H
