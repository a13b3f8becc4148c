//===- WindowGradients.h - Convolution and pool gradients -------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Gradients of convolutions and pools in standard ops, for decompositions, and
// for rules if the training vocabulary does not cover a case (bfloat16, results
// of unknown sizes).
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_AUTODIFF_WINDOWGRADIENTS_H
#define MPOPT_LIB_AUTODIFF_WINDOWGRADIENTS_H

#include "WindowNodes.h"

namespace mp {

/// The operands of a convolution and its gradient; `node` is either of them.
struct Convolution {
  NodeView node;
  /// The gradient of the result, and the operands.
  mlir::Value grad, image, weight;
  bool isTransposed = false;
};

/// Absent if a rank is unknown or an attribute does not fit.
std::optional<Windows> readConvolution(NodeBuilder &b,
                                       const Convolution &convolution);

/// Gradients of image, weight and bias; null if not `wanted`.
std::array<mlir::Value, 3> getConvGradients(NodeBuilder &b,
                                            const Convolution &convolution,
                                            const Windows &windows,
                                            std::array<bool, 3> wanted);

/// Reads the windows of `node`, a pool or its gradient, for an image of these
/// sizes (including batch and channels). Absent if an attribute does not fit.
std::optional<Windows> readPool(NodeBuilder &b, const NodeView &node,
                                llvm::ArrayRef<Size> image, mlir::Value values);

/// Adds each of `values` to all cells of its window in an image of these sizes.
mlir::Value spreadEvenly(NodeBuilder &b, mlir::Value values,
                         llvm::ArrayRef<Size> image, const Windows &windows);
/// The same for means over windows of the AveragePool (or its gradient) `node`;
/// 16-bit floats become fp32.
mlir::Value spreadMeans(NodeBuilder &b, const NodeView &node,
                        mlir::Value values, llvm::ArrayRef<Size> image,
                        const Windows &windows);
/// Adds each of `values` to the cell that `indices` names: positions in the
/// whole image, spatial axes from the last to the first if `isColumnMajor`.
mlir::Value scatterToCells(NodeBuilder &b, mlir::Value values,
                           mlir::Value indices, llvm::ArrayRef<Size> image,
                           const Windows &windows, bool isColumnMajor);

} // namespace mp

#endif // MPOPT_LIB_AUTODIFF_WINDOWGRADIENTS_H
