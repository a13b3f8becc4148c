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
//   adamw     the same of g alone, after w -= lr wd w
//             with mode=1, as Hugging Face and onnxruntime have it:
//             w -= lr m / (1 - beta1^t) sqrt(1 - beta2^t) / (sqrt(s) + eps),
//             then the decay
//   adagrad   s += (g + wd w)^2;  w -= lr (g + wd w) / (sqrt(s) + eps)
//   lamb      r = m / (1 - beta1^t) / (sqrt(s / (1 - beta2^t)) + eps) + wd w
//             w -= lr r |w| / |r|   (the quotient is 1 where a norm is zero)
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_TRAINING_OPTIMIZERS_H
#define MPOPT_TRAINING_OPTIMIZERS_H

#include "mp-opt/Dialect/ONNX/GraphEditor.h"
#include "mp-opt/Target/ONNX/NodeBuilder.h"

#include "llvm/Support/Error.h"

namespace mp {

struct OptimizerRule;

struct OptimizerSettings {
  const OptimizerRule *rule = nullptr;
  double learningRate = 0;
  double weightDecay = 0;
  /// momentum, beta1, beta2, eps and mode, as far as the rule has them.
  llvm::StringMap<double> numbers;
  /// Gradients are scaled so that the norm of all of them together is not
  /// more; 0 for no limit.
  double clipNorm = 0;
  /// Steps whose gradients are averaged for one update.
  int64_t accumulate = 1;

  /// `text` is a name and, behind a colon, numbers:
  /// "adamw:beta2=0.95,eps=1e-6". Fails for names and numbers that the
  /// optimizer does not have, and for values out of range.
  llvm::Error parse(llvm::StringRef text);
};

/// Names of the optimizers, for messages.
std::string getOptimizerNames();

/// Reads every `mp.gradient` of the graph, in order: makes states of the
/// optimizer inputs with zeros as default, its step count and the learning
/// rate too, and new values of parameters and states outputs.
void addOptimizer(onnxir::GraphOp graph, NodeBuilder &builder,
                  const OptimizerSettings &settings);

} // namespace mp

#endif // MPOPT_TRAINING_OPTIMIZERS_H
