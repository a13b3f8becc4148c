//===- Interpolation.h - Gradients of Resize --------------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Resizing is linear along each axis: a matrix (new size x old size) whose rows
// are the weights of the old cells. Its transpose is the gradient, for every
// mode.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_AUTODIFF_INTERPOLATION_H
#define MPOPT_LIB_AUTODIFF_INTERPOLATION_H

#include "mp-opt/Graph/NodeBuilder.h"
#include "mp-opt/Operators/NodeView.h"

namespace mp {

struct Interpolation {
  /// Resize or its gradient, which has the attributes without defaults.
  NodeView node;
  /// The gradient of the result, and the operands; all but the image may be
  /// null.
  mlir::Value grad, image, roi, scales, sizes;
};

/// The gradient; null, with the reason, if the operator cannot be transposed.
mlir::Value getResizeGradient(NodeBuilder &b, Interpolation resize,
                              llvm::StringRef &reason);

} // namespace mp

#endif // MPOPT_LIB_AUTODIFF_INTERPOLATION_H
