//===- Convolution.cpp - Convolutions -------------------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../Convolutions.h"
#include "../Rules.h"

using namespace mlir;

namespace mp {

/// Checks that `x` is `factor` times `y`, at compile time or run time.
static LogicalResult checkProduct(NodeLowering &node, StringRef what, Size x,
                                  Size y, int64_t factor) {
  Emitter &e = node.e;
  Size wanted = e.mul(y, e.size(factor));
  auto have = Emitter::getConstant(x), want = Emitter::getConstant(wanted);
  if (have && want && *have != *want)
    return node.fail(Twine(*have) + " " + what + ", expected " + Twine(*want));
  if (x != wanted)
    e.check(node.s.compare(Scalars::EQ, e.index(x), e.index(wanted)),
            "%0 " + what + ", expected %1", x, wanted);
  return success();
}

/// Checks that `image` and `weight` have the same rank of at least 3, and that
/// the groups divide the weight's first axis.
static FailureOr<int64_t> readGroups(NodeLowering &node, TensorValue image,
                                     TensorValue weight) {
  // The gradient's attribute has no default.
  int64_t groups = node.getInt("group", 1);
  if (image.getRank() < 3 || image.getRank() != weight.getRank()) {
    (void)node.fail("an image of " + Twine(image.getRank()) +
                    " axes and a weight of " + Twine(weight.getRank()) +
                    ", expected the same number of at least 3");
    return failure();
  }
  Emitter &e = node.e;
  Size outer = e.dim(weight, 0);
  auto known = Emitter::getConstant(outer);
  if (groups < 1 || groups > (int64_t(1) << 31) ||
      (known && *known % groups != 0)) {
    (void)node.fail(Twine(groups) + " groups of " +
                    Twine(known.value_or(ShapedType::kDynamic)) + " channels");
    return failure();
  }
  if (!known && groups != 1)
    e.check(node.s.compare(Scalars::EQ, e.index(e.rem(outer, e.size(groups))),
                           node.s.index(0)),
            "%1 groups of %0 channels", outer, e.size(groups));
  return groups;
}

static Sizes getSpace(Emitter &e, TensorValue tensor) {
  return Sizes(ArrayRef<Size>(e.sizes(tensor)).drop_front(2));
}

/// The weight's sizes; an error if `kernel_shape` has others.
static FailureOr<Sizes> getKernel(NodeLowering &node, TensorValue weight) {
  Sizes kernel = getSpace(node.e, weight);
  SmallVector<int64_t> stated = node.getInts("kernel_shape");
  if (!stated.empty() && stated.size() != kernel.size()) {
    (void)node.fail("'kernel_shape' has " + Twine(stated.size()) +
                    " numbers, expected " + Twine(kernel.size()));
    return failure();
  }
  for (auto [index, extent] : llvm::enumerate(stated)) {
    if (failed(checkProduct(node, "cells of a window", kernel[index],
                            node.e.size(extent), 1)))
      return failure();
    kernel[index] = node.e.size(extent);
  }
  return kernel;
}

FailureOr<ConvolutionEmitter>
readConvolution(NodeLowering &node, TensorValue image, TensorValue weight) {
  Emitter &e = node.e;
  auto groups = readGroups(node, image, weight);
  if (failed(groups))
    return failure();
  if (failed(checkProduct(node, "channels", e.dim(image, 1), e.dim(weight, 1),
                          *groups)))
    return failure();
  auto kernel = getKernel(node, weight);
  if (failed(kernel))
    return failure();
  auto windows = readSlidingWindows(node, getSpace(e, image), *kernel);
  if (failed(windows))
    return failure();
  return ConvolutionEmitter{e, *windows, *groups, node.outElement()};
}

/// The bias (operand `index`) with `channels` elements; null if it is absent.
static FailureOr<TensorValue> readBias(NodeLowering &node, unsigned index,
                                       Size channels) {
  if (!node.has(index))
    return TensorValue();
  TensorValue bias = node.in(index);
  if (bias.getRank() != 1) {
    (void)node.fail("a bias of " + Twine(bias.getRank()) + " axes, expected 1");
    return failure();
  }
  if (failed(checkProduct(node, "biases", node.e.dim(bias, 0), channels, 1)))
    return failure();
  return bias;
}

static LogicalResult convRule(NodeLowering &node) {
  TensorValue image = node.in(0), weight = node.in(1);
  auto convolution = readConvolution(node, image, weight);
  if (failed(convolution))
    return failure();
  auto bias = readBias(node, 2, node.e.dim(weight, 0));
  if (failed(bias))
    return failure();
  node.set(convolution->forward(image, weight, *bias));
  return success();
}

/// The windows' values are the operand; the image is the result.
static LogicalResult convTransposeRule(NodeLowering &node) {
  Emitter &e = node.e;
  TensorValue values = node.in(0), weight = node.in(1);
  auto groups = readGroups(node, values, weight);
  if (failed(groups))
    return failure();
  if (failed(checkProduct(node, "channels", e.dim(values, 1), e.dim(weight, 0),
                          1)))
    return failure();
  auto bias = readBias(node, 2, e.mul(e.dim(weight, 1), e.size(*groups)));
  auto kernel = getKernel(node, weight);
  if (failed(bias) || failed(kernel))
    return failure();
  auto windows = readTransposedWindows(node, getSpace(e, values), *kernel);
  if (failed(windows))
    return failure();
  ConvolutionEmitter convolution{e, *windows, *groups, node.outElement()};
  node.set(convolution.backwardData(values, weight, *bias));
  return success();
}

/// Sums over all axes but the channels.
static TensorValue sumChannels(NodeLowering &node, TensorValue grad,
                               Type element) {
  SmallVector<int64_t> axes = {0};
  llvm::append_range(axes, llvm::seq<int64_t>(2, grad.getRank()));
  Scalars &s = node.s;
  return node.e.reduce(
      grad, axes, /*keepDims=*/false, element,
      s.constant(getComputeType(grad.element), 0),
      [&](Value value, Value sum) { return s.add(sum, value); });
}

/// ConvGrad(dY, X, W) -> dX, dW, dB
static LogicalResult convGradRule(NodeLowering &node) {
  Emitter &e = node.e;
  TensorValue grad = node.in(0), image = node.in(1), weight = node.in(2);
  auto convolution = readConvolution(node, image, weight);
  if (failed(convolution))
    return failure();
  if (grad.getRank() != image.getRank())
    return node.fail("a gradient of " + Twine(grad.getRank()) +
                     " axes, expected " + Twine(image.getRank()));
  if (failed(checkProduct(node, "channels of the gradient", e.dim(grad, 1),
                          e.dim(weight, 0), 1)) ||
      failed(checkProduct(node, "images in the gradient", e.dim(grad, 0),
                          e.dim(image, 0), 1)))
    return failure();
  for (auto [extent, axis] : llvm::zip(getSpace(e, grad), convolution->windows))
    if (failed(checkProduct(node, "windows of the gradient", extent, axis.count,
                            1)))
      return failure();
  for (unsigned index : {0, 1}) {
    if (!node.wants(index))
      continue;
    ConvolutionEmitter part = *convolution;
    part.element = node.outElement(index);
    node.set(index, index == 0 ? part.backwardData(grad, weight, TensorValue())
                               : part.backwardWeights(grad, image));
  }
  if (node.wants(2))
    node.set(2, sumChannels(node, grad, node.outElement(2)));
  return success();
}

ArrayRef<LoweringRule> getConvolutionLowerings() {
  static const LoweringRule rules[] = {
      {"Conv", convRule},
      {"ConvGrad", convGradRule},
      {"ConvTranspose", convTransposeRule},
      {"com.microsoft.ConvGrad", convGradRule},
  };
  return rules;
}

} // namespace mp
