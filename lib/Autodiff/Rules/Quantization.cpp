//===- Quantization.cpp - Gradients of quantization -----------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The straight-through estimator of Bengio, Leonard and Courville (2013), as in
// torch.fake_quantize_per_tensor_affine and _per_channel_affine: the gradient
// passes where the number is not clipped.
//
//===----------------------------------------------------------------------===//

#include "../Rules.h"

using namespace mlir;
using namespace mp::onnxir;

namespace mp {

Value getRoundedSource(Operation *node) {
  if (!isStandardOp(node, "DequantizeLinear") || !hasOperand(node, 0))
    return {};
  Operation *definer = node->getOperand(0).getDefiningOp();
  if (!definer || !isStandardOp(definer, "QuantizeLinear") ||
      definer->getBlock() != node->getBlock() || !hasOperand(definer, 0))
    return {};
  return definer->getOperand(0);
}

/// The bounds of a quantized type.
static std::pair<double, double> getRange(Type type) {
  if (auto number = dyn_cast<FloatType>(type)) {
    double most =
        APFloat::getLargest(number.getFloatSemantics()).convertToDouble();
    return {-most, most};
  }
  unsigned width = type.getIntOrFloatBitWidth();
  if (type.isUnsignedInteger())
    return {0, double(llvm::maxUIntN(width))};
  return {double(llvm::minIntN(width)), double(llvm::maxIntN(width))};
}

/// A scale or zero point in its broadcast shape: one number for each slice
/// along `axis`, or one for all.
static Value alongAxis(NodeBuilder &b, Value value, int64_t axis,
                       int64_t rank) {
  if (NodeBuilder::getRank(value) == 0)
    return value;
  SmallVector<int64_t> shape(rank, 1);
  shape[axis] = -1;
  return b.reshape(value, shape);
}

/// True where `quantize` does not clip.
static Value findInside(NodeBuilder &b, Operation *quantize, int64_t axis,
                        int64_t rank) {
  Value x = quantize->getOperand(0), scale = quantize->getOperand(1);
  Type type = getTensorElementType(x.getType());
  auto spread = [&](Value value) {
    return alongAxis(b, b.castTo(value, type), axis, rank);
  };
  Type stored = getTensorElementType(quantize->getResult(0).getType());
  auto [low, high] = getRange(stored);
  Value steps = b.div(x, spread(scale));
  if (isa<IntegerType>(stored))
    steps = b.create("Round", {steps});
  if (hasOperand(quantize, 2))
    steps = b.add(steps, spread(quantize->getOperand(2)));
  Value isBelow = b.create("LessOrEqual", {steps, b.scalar(high, type)});
  Value isAbove = b.create("GreaterOrEqual", {steps, b.scalar(low, type)});
  return b.create("And", {isAbove, isBelow});
}

static LogicalResult dequantizeRule(NodeAdjoint &op) {
  if (op.wants(1))
    return op.fail("there is no gradient for its scale");
  Value source = getRoundedSource(op.getNode());
  if (!source || !op.wants(source))
    return success();
  if (!op.options.straightThrough)
    return op.fail("rounding has no gradient; --straight-through passes that "
                   "of the result where nothing is clipped");
  Operation *quantize = op.in(0).getDefiningOp();
  auto rank = NodeBuilder::getRank(source);
  auto scaleRank = NodeBuilder::getRank(quantize->getOperand(1));
  Type stored = getTensorElementType(op.in(0).getType());
  if (!rank || !scaleRank || !isa_and_nonnull<IntegerType, FloatType>(stored))
    return op.fail("the types of its operands are unknown");
  std::optional<int64_t> axis = NodeView(quantize).axisIn(*rank);
  if (*scaleRank > 1 || (*scaleRank == 1 && !axis))
    return op.fail("there is no gradient for scales of blocks");
  Value inside = findInside(op.b, quantize, axis.value_or(0), *rank);
  Value gradient = op.b.castLike(op.grad(), source);
  op.set(source, op.b.where(inside, gradient, op.b.scalarLike(0, source)));
  return success();
}

static constexpr GradientRule quantizationGradients[] = {
    {"DequantizeLinear", dequantizeRule}};

ArrayRef<GradientRule> getQuantizationGradients() {
  return quantizationGradients;
}

} // namespace mp
