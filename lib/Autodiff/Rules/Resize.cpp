//===- Resize.cpp - Gradients of resizing ---------------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// ResizeGrad has kernels for few modes, and only on GPUs; rules use standard
// ops for all of them.
//
//===----------------------------------------------------------------------===//

#include "../Interpolation.h"
#include "../Rules.h"

using namespace mlir;

namespace mp {

static LogicalResult resizeRule(NodeAdjoint &op) {
  // No other mode reads it.
  if (op.wants(1) &&
      op.getString("coordinate_transformation_mode") == "tf_crop_and_resize")
    return op.fail("there is no gradient for its region of interest");
  if (!op.wants(0))
    return success();
  // A model may declare any shape for the result.
  auto rank = NodeBuilder::getRank(op.out());
  if (rank && rank != NodeBuilder::getRank(op.in(0)))
    return op.fail("its operand and its result have different ranks");
  Interpolation resize{op.getNode(), op.grad(), op.in(0),
                       op.in(1),     op.in(2),  op.in(3)};
  StringRef reason;
  Value gradient = getResizeGradient(op.b, resize, reason);
  if (!gradient)
    return op.fail(reason);
  op.set(0, gradient);
  return success();
}

static constexpr GradientRule resizeGradients[] = {{"Resize", resizeRule}};

ArrayRef<GradientRule> getResizeGradients() { return resizeGradients; }

} // namespace mp
