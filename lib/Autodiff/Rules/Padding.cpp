//===- Padding.cpp - Gradients of padding and of folding blocks -----------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../Rules.h"

using namespace mlir;

namespace mp {

//===----------------------------------------------------------------------===//
// Pad
//===----------------------------------------------------------------------===//

/// Removes the elements that `pads` has added, and adds zeros where it has
/// removed some.
static Value unpad(NodeAdjoint &op) {
  NodeBuilder &b = op.b;
  Value grad = op.grad(), pads = op.in(1), axes = op.in(3);
  Value zero = b.ints(0);
  auto known = getConstantInts(pads);
  bool takes = !known, puts = !known;
  for (int64_t pad : known.value_or(SmallVector<int64_t>())) {
    puts |= pad < 0;
    takes |= pad > 0;
  }
  if (takes) {
    Value positive = b.create("Max", {pads, zero});
    Operation *ends = b.createNode(
        "Split", {positive}, {Type(), Type()},
        {b.attr("axis", int64_t(0)), b.attr("num_outputs", int64_t(2))});
    Value sizes = b.shapeOf(grad);
    if (axes)
      sizes = b.gather(sizes, axes, 0);
    grad = b.create("Slice", {grad, ends->getResult(0),
                              b.sub(sizes, ends->getResult(1)), axes});
  }
  if (puts) {
    Value missing = b.neg(b.create("Min", {pads, zero}));
    grad = b.create("Pad", {grad, missing, Value(), axes});
  }
  return grad;
}

/// An equal padding of the numbers 0, 1, 2 ... gives the index of the operand's
/// element for each element of the result.
static Value sumCopies(NodeAdjoint &op) {
  NodeBuilder &b = op.b;
  Value x = op.in(0);
  Value count = b.create("Size", {x});
  Value numbers = b.reshapeLike(
      b.create("Range", {b.intScalar(0), count, b.intScalar(1)}), x);
  Value places = b.create("Pad", {numbers, op.in(1), Value(), op.in(3)},
                          b.attr("mode", op.getString("mode")));
  Value sums = b.create(
      "com.microsoft.GatherGrad", {b.reshape(count, {1}), places, op.grad()},
      b.attr("axis", int64_t(0)),
      RankedTensorType::get({ShapedType::kDynamic},
                            onnxir::getTensorElementType(x.getType())));
  return b.reshapeLike(sums, x);
}

static LogicalResult padRule(NodeAdjoint &op) {
  NodeBuilder &b = op.b;
  if (op.getString("mode") != "constant") {
    op.set(0, sumCopies(op));
    return success();
  }
  if (op.wants(0))
    op.set(0, unpad(op));
  if (op.wants(2)) {
    // Ones at the padding.
    Value mask = b.create("Pad", {b.zerosLike(op.in(0)), op.in(1),
                                  b.scalarLike(1, op.in(0)), op.in(3)});
    Value sum = b.reduceSum(b.mul(op.grad(), mask), {}, /*keepDims=*/false);
    op.set(2, b.reshapeLike(sum, op.in(2)));
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Col2Im
//===----------------------------------------------------------------------===//

/// Cuts the blocks of the gradient out with a convolution by one-hot kernels,
/// one kernel per position in a block.
static LogicalResult col2ImRule(NodeAdjoint &op) {
  NodeBuilder &b = op.b;
  auto block = getConstantInts(op.in(2));
  if (!block || block->empty())
    return op.fail("its block shape is not constant");
  int64_t places = 1;
  for (int64_t size : *block)
    places *= size;
  Type element = onnxir::getTensorElementType(op.grad().getType());
  Value square = b.expand(b.scalar(0, element), b.ints({places, places}));
  SmallVector<int64_t> kernelSizes{places, 1};
  kernelSizes.append(*block);
  Value kernels = b.reshape(b.create("EyeLike", {square}), kernelSizes);
  Value planes = b.reshape(op.grad(), b.concat({b.ints({-1, 1}), op.in(1)}, 0));
  SmallVector<NamedAttribute> attributes;
  for (StringRef name : {"dilations", "pads", "strides"})
    if (SmallVector<int64_t> values = op.getInts(name); !values.empty())
      attributes.push_back(b.attr(name, values));
  Value blocks = b.create("Conv", {planes, kernels}, attributes);
  op.set(0, b.reshapeLike(blocks, op.in(0)));
  return success();
}

static constexpr GradientRule paddingGradients[] = {{"Col2Im", col2ImRule},
                                                    {"Pad", padRule}};

ArrayRef<GradientRule> getPaddingGradients() { return paddingGradients; }

} // namespace mp
