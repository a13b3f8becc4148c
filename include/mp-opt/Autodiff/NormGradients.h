//===- NormGradients.h - Gradients of normalizations ------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// All normalizations are one function along different axes: x, perhaps minus
// its mean, times the inverse of its deviation. Statistics and gradients of
// 16-bit values are fp32.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_AUTODIFF_NORMGRADIENTS_H
#define MPOPT_AUTODIFF_NORMGRADIENTS_H

#include "mp-opt/Graph/NodeBuilder.h"

namespace mp {

/// Casts 16-bit floats to fp32; returns other values unchanged.
mlir::Value widen(NodeBuilder &b, mlir::Value value);

/// The axes from `first` (negative ones count from the end) to the last.
llvm::SmallVector<int64_t> axesFrom(int64_t first, int64_t rank);
/// All axes except axis 1.
llvm::SmallVector<int64_t> axesBesideChannels(int64_t rank);

struct Normalization {
  llvm::SmallVector<int64_t> axes;
  bool subtractsMean = true;
  /// The normalized values, and the factor that was applied to them, whose
  /// normalized axes have size 1.
  mlir::Value normalized, factor;
  mlir::Value mean;
};

/// Normalizes `value`, whose element type is wide.
Normalization normalize(NodeBuilder &b, mlir::Value value,
                        llvm::ArrayRef<int64_t> axes, double epsilon,
                        bool subtractsMean = true);
/// The same with a known mean (null for none) and factor.
Normalization normalizeBy(NodeBuilder &b, mlir::Value value,
                          llvm::ArrayRef<int64_t> axes, mlir::Value mean,
                          mlir::Value factor);

/// The gradient of the operand from that of the normalized values.
mlir::Value getNormGradient(NodeBuilder &b, const Normalization &norm,
                            mlir::Value gradient);

/// Reshapes a vector with one element per channel to C x 1 x ..., which
/// broadcasts to a tensor of this rank.
mlir::Value alongChannels(NodeBuilder &b, mlir::Value vector, int64_t rank);

} // namespace mp

#endif // MPOPT_AUTODIFF_NORMGRADIENTS_H
