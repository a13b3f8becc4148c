//===- Resize.cpp - Gradients of resizing in standard ops -----------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../DecompositionTables.h"
#include "../Interpolation.h"

using namespace mlir;

namespace mp {

/// ResizeGrad(dY, X, roi, scales)
static LogicalResult resizeGrad(NodeDecomposition &op) {
  Interpolation resize{op.getNode(), op.in(0), op.in(1),
                       op.in(2),     op.in(3), Value()};
  StringRef reason;
  Value gradient = getResizeGradient(op.b, resize, reason);
  if (!gradient)
    return op.fail(reason);
  op.replace(gradient);
  return success();
}

static constexpr Decomposition resizeDecompositions[] = {
    {"com.microsoft.ResizeGrad", resizeGrad}};

ArrayRef<Decomposition> getResizeDecompositions() {
  return resizeDecompositions;
}

} // namespace mp
