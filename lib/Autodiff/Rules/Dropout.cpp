//===- Dropout.cpp - Gradients of dropouts --------------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Both directions share one mask, a result of the forward node.
//
//===----------------------------------------------------------------------===//

#include "../Rules.h"

using namespace mlir;
using namespace mp::onnxir;

namespace mp {

/// The gradient of the masked operand; operands `ratio` and `ratio + 1` of the
/// node are the ratio and the mode. Null if nothing was dropped.
static Value maskGradient(NodeAdjoint &op, unsigned ratio, StringRef gradOp,
                          Type maskType) {
  // Without a mode, nothing is dropped.
  if (!op.has(ratio + 1))
    return op.grad();
  Value mask = op.require(1, maskType);
  return op.b.create(gradOp, {op.grad(), mask, op.in(ratio), op.in(ratio + 1)},
                     {}, op.grad().getType());
}

static Type getMaskType(NodeAdjoint &op) {
  return withElementType(op.out().getType(), op.b.getBuilder().getI1Type());
}

static LogicalResult dropoutRule(NodeAdjoint &op) {
  op.set(0, maskGradient(op, 1, "com.microsoft.DropoutGrad", getMaskType(op)));
  return success();
}

/// y = dropout(data + bias) + residual
static LogicalResult biasDropoutRule(NodeAdjoint &op) {
  Value masked = op.grad();
  if (op.wants(0) || op.wants(1))
    masked = maskGradient(op, 3, "com.microsoft.DropoutGrad", getMaskType(op));
  op.set(0, masked);
  if (op.wants(1))
    op.set(1, op.b.sumTo(masked, op.in(1), op.in(0)));
  op.set(2, op.grad());
  return success();
}

/// Words of 32 bits.
static LogicalResult bitmaskDropoutRule(NodeAdjoint &op) {
  auto word = IntegerType::get(op.b.getContext(), 32, IntegerType::Unsigned);
  Type type = RankedTensorType::get({ShapedType::kDynamic}, word);
  op.set(0, maskGradient(op, 1, "com.microsoft.BitmaskDropoutGrad", type));
  return success();
}

static constexpr GradientRule dropoutGradients[] = {
    {"Dropout", dropoutRule},
    {"com.microsoft.BiasDropout", biasDropoutRule},
    {"com.microsoft.BitmaskDropout", bitmaskDropoutRule}};

ArrayRef<GradientRule> getDropoutGradients() { return dropoutGradients; }

} // namespace mp
