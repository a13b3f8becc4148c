//===- Contractions.h - Sums of products ------------------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_CONVERSION_CONTRACTIONS_H
#define MPOPT_LIB_CONVERSION_CONTRACTIONS_H

#include "NodeLowering.h"

namespace mp {

/// c = sum of a * b over an affine iteration space, as kernel.contract has it:
/// `maps` are those of a, b and c. Sums of floats are f32 (f64 of f64), and
/// rounded once; those of integers are of c's type. `finish`, if given, makes
/// c's element (a compute value) of the sum.
TensorValue contract(Emitter &e, TensorValue a, TensorValue b,
                     llvm::ArrayRef<Size> sizes, mlir::Type element,
                     llvm::ArrayRef<mlir::AffineMap> maps,
                     llvm::ArrayRef<Size> loopSizes = {},
                     Emitter::BodyFn finish = nullptr);

/// alpha * a * b + beta * bias: matrices, vectors and batches as in MatMul.
struct MatrixProduct {
  TensorValue a, b, bias;
  mlir::Type element;
  bool transposeA = false, transposeB = false;
  double alpha = 1, beta = 1;

  mlir::FailureOr<TensorValue> emit(NodeLowering &node);
};

} // namespace mp

#endif // MPOPT_LIB_CONVERSION_CONTRACTIONS_H
