//===- Fourier.cpp - Gradients of Fourier transforms ----------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A transform is linear in real and imaginary parts; its adjoint is the other
// direction without, or with, the factor 1/n. Elements that a one-sided
// transform leaves out are zero in the adjoint of the forward transform, and
// count twice in that of the inverse one.
//
//===----------------------------------------------------------------------===//

#include "../Rules.h"
#include "../Sizes.h"

using namespace mlir;
using namespace mp::onnxir;

namespace mp {

namespace {

/// A transform along one axis, which is neither negative nor the last.
struct Transform {
  int64_t axis = 0, rank = 0;
  bool isInverse = false, isOneSided = false;
  /// Length of the transform: a signal is cut, or padded by zeros, to it.
  Size length;
};

/// Writes adjoints of transforms.
class Fourier {
public:
  Fourier(NodeBuilder &b, int64_t opset) : b(b), math(b), opset(opset) {}

  /// The gradient of a signal with this size along the axis, and one or two
  /// parts (real and imaginary).
  Value getAdjoint(Value grad, const Transform &of, Size signal, Size parts);

private:
  Value transform(Value value, int64_t axis, bool isInverse, bool isOneSided);
  Value countTwice(Value value, const Transform &of);

  NodeBuilder &b;
  SizeMath math;
  int64_t opset;
};

} // namespace

Value Fourier::transform(Value value, int64_t axis, bool isInverse,
                         bool isOneSided) {
  SmallVector<NamedAttribute> attributes = {
      b.attr("inverse", int64_t(isInverse)),
      b.attr("onesided", int64_t(isOneSided))};
  SmallVector<Value> operands = {value};
  // The axis used to be an attribute.
  if (opset < 20)
    attributes.push_back(b.attr("axis", axis));
  else
    operands.append({Value(), b.intScalar(axis)});
  return b.create("DFT", operands, attributes);
}

/// All frequencies except the first, and the last of an even number, count for
/// two of the real result.
Value Fourier::countTwice(Value value, const Transform &of) {
  Size count = math.add(math.div(of.length, 2), 1);
  Value number = math.range(count);
  auto isEqual = [&](Value left, Size right) {
    return b.castLike(b.create("Equal", {left, right.getValue(b)}), value);
  };
  Value doubled = b.mul(number, b.ints(2));
  Value single = b.add(isEqual(number, 0), isEqual(doubled, of.length));
  Value factor = b.sub(b.scalarLike(2, value), single);
  SmallVector<int64_t> shape(of.rank, 1);
  shape[of.axis] = -1;
  return b.mul(value, b.reshape(factor, shape));
}

Value Fourier::getAdjoint(Value grad, const Transform &of, Size signal,
                          Size parts) {
  Value length = math.scalar(of.length, getTensorElementType(grad.getType()));
  Size has = of.length;
  if (of.isOneSided && !of.isInverse) {
    Size bins = math.add(math.div(of.length, 2), 1);
    grad = math.pad(grad, of.axis, {0}, {math.sub(of.length, bins)});
  }
  bool isToHalf = of.isOneSided && of.isInverse;
  Value found = transform(grad, of.axis, !of.isInverse, isToHalf);
  if (isToHalf) {
    found = countTwice(found, of);
    has = math.add(math.div(of.length, 2), 1);
  }
  found = of.isInverse ? b.div(found, length) : b.mul(found, length);
  if (!signal.isKnown() || !has.isKnown() || signal.get() != has.get()) {
    found = math.pad(found, of.axis, {0}, {math.max(math.sub(signal, has), 0)});
    found = math.crop(found, of.axis, {0}, {signal});
  }
  return parts.is(2) ? found : math.crop(found, of.rank - 1, {0}, {parts});
}

/// Reads a scalar operand as a size.
static Size getSize(NodeBuilder &b, Value value) {
  if (auto known = getConstantInts(value); known && known->size() == 1)
    return known->front();
  return Size(b.reshape(value, ArrayRef<int64_t>{1}));
}

static LogicalResult dftRule(NodeAdjoint &op) {
  Operation *node = op.getNode();
  auto rank = NodeBuilder::getRank(op.in(0));
  if (!rank || *rank < 2)
    return op.fail("expected an operand of known rank, two or more");
  int64_t opset = getOpset(node, "").value_or(1);
  Transform of;
  of.axis = opset < 20 ? op.axis() : -2;
  if (op.has(2)) {
    auto axis = getConstantInts(op.in(2));
    if (!axis || axis->size() != 1)
      return op.fail("there is no gradient along an axis that is known at run "
                     "time only");
    of.axis = axis->front();
  }
  of.rank = *rank;
  of.axis += of.axis < 0 ? *rank : 0;
  if (of.axis < 0 || of.axis >= *rank - 1)
    return op.fail("its axis does not fit its operand");
  of.isInverse = op.getFlag("inverse");
  of.isOneSided = op.getFlag("onesided");
  SizeMath math(op.b);
  Size signal = math.of(op.in(0), of.axis);
  of.length = signal;
  if (op.has(1))
    of.length = getSize(op.b, op.in(1));
  else if (of.isInverse && of.isOneSided)
    of.length = math.mul(math.sub(signal, 1), 2);
  Size parts = math.of(op.in(0), *rank - 1);
  op.set(0, Fourier(op.b, opset).getAdjoint(op.grad(), of, signal, parts));
  return success();
}

/// STFT is a transform of frames: pieces of the signal, which overlap, times a
/// window.
static LogicalResult stftRule(NodeAdjoint &op) {
  NodeBuilder &b = op.b;
  if (NodeBuilder::getRank(op.in(0)) != 3 || (!op.has(2) && !op.has(3)))
    return op.fail("expected a signal of rank 3, and a window or the length of "
                   "frames");
  SizeMath math(b);
  Transform of;
  of.axis = 2;
  of.rank = 4;
  of.isOneSided = op.getFlag("onesided");
  of.length = op.has(3) ? getSize(b, op.in(3)) : math.of(op.in(2), 0);
  Fourier fourier(b, getOpset(op.getNode(), "").value_or(1));
  Value frames =
      fourier.getAdjoint(op.grad(), of, of.length, math.of(op.in(0), 2));
  Value starts = b.mul(math.range(math.of(op.out(), 1)), op.in(1));
  Value places = b.add(b.unsqueeze(starts, {1}), math.range(of.length));
  if (op.wants(2)) {
    Value product = b.mul(frames, b.gather(op.in(0), places, 1));
    op.set(2, b.reduceSum(product, {0, 1, 3}, /*keepDims=*/false));
  }
  if (!op.wants(0))
    return success();
  if (op.has(2))
    frames = b.mul(frames, b.unsqueeze(op.in(2), {1}));
  op.set(0, b.create("com.microsoft.GatherGrad",
                     {b.shapeOf(op.in(0)), places, frames},
                     b.attr("axis", int64_t(1)), op.in(0).getType()));
  return success();
}

static constexpr GradientRule fourierGradients[] = {{"DFT", dftRule},
                                                    {"STFT", stftRule}};

ArrayRef<GradientRule> getFourierGradients() { return fourierGradients; }

} // namespace mp
