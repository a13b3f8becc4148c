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

/// What a contraction of floats takes into its store.
struct ContractionEnd {
  /// Makes c's element (a compute value) of the sum and the extras' elements.
  Emitter::BodyFn finish = nullptr;
  /// Read at dimensions that c has, by these maps.
  llvm::SmallVector<TensorValue> extras;
  llvm::SmallVector<mlir::AffineMap> maps;
  /// What c holds where its map does not lead; it leads everywhere if this is
  /// null.
  mlir::Value init;
};

/// c = sum of a * b over an affine iteration space, as kernel.contract has it:
/// `maps` are those of a, b and c. Sums of floats are f32 (f64 of f64), and
/// rounded once; those of integers are of c's type, and read nothing out of
/// bounds.
TensorValue contract(Emitter &e, TensorValue a, TensorValue b,
                     llvm::ArrayRef<Size> sizes, mlir::Type element,
                     llvm::ArrayRef<mlir::AffineMap> maps,
                     llvm::ArrayRef<Size> loopSizes = {},
                     const ContractionEnd &end = {});

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
