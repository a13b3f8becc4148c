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

/// The epilogue of a contraction of floats, applied when c is stored.
struct ContractionEnd {
  /// Makes c's element (a compute value) from the sum and the extras' elements.
  Emitter::BodyFn finish = nullptr;
  /// Operands that `finish` reads through these maps, over c's dimensions.
  llvm::SmallVector<TensorValue> extras;
  llvm::SmallVector<mlir::AffineMap> maps;
  /// The elements of c that its map does not reach; null if the map reaches
  /// all.
  mlir::Value init;
};

/// c = sum of a * b over an affine iteration space, like kernel.contract.
/// `maps` are those of a, b and c. Sums of floats are f32 (f64 for f64) and
/// rounded once; sums of integers have c's type and must not read out of
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
