//===- LossKinds.h - The formula of each loss -------------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One table says what each loss is called, which settings it has, what it
// expects of the value that it is of, and how it is computed.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_TRAINING_LOSSKINDS_H
#define MPOPT_LIB_TRAINING_LOSSKINDS_H

#include "mp-opt/Training/Losses.h"

namespace mp {

/// What a loss is computed from.
struct LossTerm {
  NodeBuilder &b;
  const LossRequest &request;
  /// Scores have their classes on axis 1.
  mlir::Value prediction, labels;
};

/// An activation that comes before the loss, or must not.
enum class Activation {
  Any,
  /// Part of the loss: of its result, the operand is taken.
  SoftmaxInside,
  SigmoidInside,
  /// The loss has one of its own.
  NoSigmoid,
  /// Logarithms are expected.
  NoSoftmax
};

struct LossKind {
  llvm::StringLiteral name;
  /// Names of torch, the function and the module, and of Keras.
  std::vector<llvm::StringRef> otherNames;
  /// Settings beside weight, labels and reduction.
  std::vector<llvm::StringRef> keys;
  bool hasClasses;
  Activation activation;
  mlir::Value (*build)(LossTerm &);
};

llvm::ArrayRef<LossKind> getLossKinds();

} // namespace mp

#endif // MPOPT_LIB_TRAINING_LOSSKINDS_H
