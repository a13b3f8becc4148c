//===- LossKinds.h - The formula of each loss -------------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One table gives the names of each loss, its settings, its expectations of the
// output, and its computation.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_TRAINING_LOSSKINDS_H
#define MPOPT_LIB_TRAINING_LOSSKINDS_H

#include "mp-opt/Training/Losses.h"

namespace mp {

/// The values that a loss is computed from.
struct LossTerm {
  NodeBuilder &b;
  const LossRequest &request;
  /// Scores have their classes on axis 1.
  mlir::Value prediction, labels;
};

/// An activation that comes before the loss, or must not.
enum class Activation {
  Any,
  /// The loss contains it: the operand of the model's activation is used.
  SoftmaxInside,
  SigmoidInside,
  /// The loss contains one; the model must not have another.
  NoSigmoid,
  /// Logarithms are expected.
  NoSoftmax
};

struct LossKind {
  llvm::StringLiteral name;
  /// Names of torch, the function and the module, and of Keras.
  std::vector<llvm::StringRef> otherNames;
  /// Settings in addition to weight, labels and reduction.
  std::vector<llvm::StringRef> keys;
  bool hasClasses;
  Activation activation;
  mlir::Value (*build)(LossTerm &);
};

llvm::ArrayRef<LossKind> getLossKinds();

} // namespace mp

#endif // MPOPT_LIB_TRAINING_LOSSKINDS_H
