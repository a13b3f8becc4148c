//===- MaskSteps.h - Effects of operators on masks --------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Table of operators that the analyses of masks share.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_PRECISION_PATTERNS_MASKSTEPS_H
#define MPOPT_LIB_PRECISION_PATTERNS_MASKSTEPS_H

#include "mp-opt/Dialect/ONNX/ONNX.h"

namespace mp {

/// The effect of an operator on a mask among its operands.
enum class MaskStep : uint8_t {
  Ends,
  Softmax,
  LogSoftmax,
  /// Exponentials are internal, but elements that they make zero may show.
  Exponentials,
  ReduceMax,
  /// The result has the first operand's elements, or those of all float
  /// operands.
  Moves,
  Casts,
  Chooses,
  Adds,
  Subtracts,
  Negates,
  Multiplies,
  Divides,
  Attention,
  If,
};

MaskStep getMaskStep(mlir::Operation *node);

} // namespace mp

#endif // MPOPT_LIB_PRECISION_PATTERNS_MASKSTEPS_H
