//===- MaskSteps.h - What operators do with masks ---------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The one table of operators that the analyses of masks share.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_PRECISION_PATTERNS_MASKSTEPS_H
#define MPOPT_LIB_PRECISION_PATTERNS_MASKSTEPS_H

#include "mp-opt/Dialect/ONNX/ONNX.h"

namespace mp {

/// What an operator makes of a mask among its operands.
enum class MaskStep : uint8_t {
  Ends,
  Softmax,
  LogSoftmax,
  /// Exponentials are inside, but elements that they make zero may show.
  Exponentials,
  ReduceMax,
  /// The first operand's elements, or those of all float operands.
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
