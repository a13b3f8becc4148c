//===- DataMovement.cpp - Gradients of ops that move elements -------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../Rules.h"

using namespace mlir;

namespace mp {

//===----------------------------------------------------------------------===//
// Reshaping
//===----------------------------------------------------------------------===//

static LogicalResult reshapeRule(NodeAdjoint &op) {
  op.set(0, op.b.reshapeLike(op.grad(), op.in(0)));
  return success();
}

static LogicalResult squeezeRule(NodeAdjoint &op) {
  if (!op.has(1))
    return reshapeRule(op);
  op.set(0, op.b.create("Unsqueeze", {op.grad(), op.in(1)}));
  return success();
}

static LogicalResult unsqueezeRule(NodeAdjoint &op) {
  op.set(0, op.b.create("Squeeze", {op.grad(), op.in(1)}));
  return success();
}

static LogicalResult transposeRule(NodeAdjoint &op) {
  SmallVector<int64_t> permutation = op.getInts("perm");
  // Without the attribute, the order of the axes is reversed.
  if (permutation.empty()) {
    op.set(0, op.b.create("Transpose", {op.grad()}));
    return success();
  }
  SmallVector<int64_t> inverse(permutation.size());
  for (auto [index, axis] : llvm::enumerate(permutation)) {
    if (axis < 0 || axis >= int64_t(inverse.size()))
      return op.fail("its attribute 'perm' is not a permutation");
    inverse[axis] = index;
  }
  op.set(0, op.b.transpose(op.grad(), inverse));
  return success();
}

//===----------------------------------------------------------------------===//
// Splitting and joining
//===----------------------------------------------------------------------===//

static LogicalResult concatRule(NodeAdjoint &op) {
  Operation *node = op.getNode();
  int64_t axis = op.axis();
  if (node->getNumOperands() == 1) {
    op.set(0, op.grad());
    return success();
  }
  SmallVector<Value> sizes;
  SmallVector<int64_t> known;
  SmallVector<Type> types;
  for (Value operand : node->getOperands()) {
    if (auto rank = NodeBuilder::getRank(operand);
        rank && (axis < -*rank || axis >= *rank))
      return op.fail("its attribute 'axis' is out of range");
    sizes.push_back(op.b.dimOf(operand, axis));
    if (auto size = getConstantInts(sizes.back()))
      known.push_back(size->front());
    types.push_back(operand.getType());
  }
  Value lengths =
      known.size() == sizes.size() ? op.b.ints(known) : op.b.concat(sizes, 0);
  Operation *split = op.b.createNode("Split", {op.grad(), lengths}, types,
                                     op.b.attr("axis", axis));
  for (auto [index, part] : llvm::enumerate(split->getResults()))
    op.set(index, part);
  return success();
}

static LogicalResult splitRule(NodeAdjoint &op) {
  SmallVector<Value> parts;
  for (unsigned index = 0; index < op.getNode()->getNumResults(); ++index) {
    if (!hasResult(op.getNode(), index))
      return op.fail("one of its results is left out");
    parts.push_back(op.gradOrZeros(index));
  }
  op.set(0, op.b.concat(parts, op.axis()));
  return success();
}

static LogicalResult sliceRule(NodeAdjoint &op) {
  op.set(0, op.b.create("com.microsoft.SliceGrad",
                        {op.grad(), op.b.shapeOf(op.in(0)), op.in(1), op.in(2),
                         op.in(3), op.in(4)},
                        {}, op.in(0).getType()));
  return success();
}

/// Cropping or padding the gradient to the operand's sizes removes or adds
/// zeros exactly where the op has added or removed elements.
static LogicalResult centerCropPadRule(NodeAdjoint &op) {
  SmallVector<int64_t> axes = op.getInts("axes");
  Value sizes = op.b.shapeOf(op.in(0));
  SmallVector<NamedAttribute> attributes;
  if (!axes.empty()) {
    sizes = op.b.gather(sizes, op.b.ints(axes), 0);
    attributes.push_back(op.b.attr("axes", axes));
  }
  op.set(0, op.b.create("CenterCropPad", {op.grad(), sizes}, attributes,
                        op.in(0).getType()));
  return success();
}

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

static LogicalResult expandRule(NodeAdjoint &op) {
  op.set(0, op.b.sumTo(op.grad(), op.in(0)));
  return success();
}

/// Splits every axis in two, the copies and the size, and sums over copies.
static LogicalResult tileRule(NodeAdjoint &op) {
  NodeBuilder &b = op.b;
  auto rank = NodeBuilder::getRank(op.in(0));
  if (!rank)
    return op.fail("the rank of its operand is unknown");
  SmallVector<int64_t> copies;
  for (int64_t axis = 0; axis < *rank; ++axis)
    copies.push_back(2 * axis);
  Value pairs = b.concat(
      {b.unsqueeze(op.in(1), 1), b.unsqueeze(b.shapeOf(op.in(0)), 1)}, 1);
  Value sizes = b.reshape(pairs, {-1});
  Value split =
      b.create("Reshape", {op.grad(), sizes}, b.attr("allowzero", int64_t(1)));
  op.set(0, copies.empty() ? op.grad()
                           : b.reduceSum(split, copies, /*keepDims=*/false));
  return success();
}

//===----------------------------------------------------------------------===//
// Permutations
//===----------------------------------------------------------------------===//

static LogicalResult depthToSpaceRule(NodeAdjoint &op) {
  NodeBuilder &b = op.b;
  int64_t block = op.getInt("blocksize", 1);
  if (op.getString("mode") == "DCR") {
    op.set(0, b.create("SpaceToDepth", {op.grad()}, b.attr("blocksize", block),
                       op.in(0).getType()));
    return success();
  }
  if (NodeBuilder::getRank(op.in(0)).value_or(4) != 4)
    return op.fail("expected an operand of rank 4");
  // Columns, rows, depth; SpaceToDepth uses the other order.
  Value sizes = b.concat({b.ints({0, 0}), b.dimOf(op.in(0), 2), b.ints(block),
                          b.dimOf(op.in(0), 3), b.ints(block)},
                         0);
  Value blocks = b.reshape(op.grad(), sizes);
  op.set(0, b.reshapeLike(b.transpose(blocks, {0, 1, 3, 5, 2, 4}), op.in(0)));
  return success();
}

static LogicalResult spaceToDepthRule(NodeAdjoint &op) {
  int64_t block = op.getInt("blocksize", 1);
  op.set(0, op.b.create("DepthToSpace", {op.grad()},
                        op.b.attr("blocksize", block), op.in(0).getType()));
  return success();
}

/// The op is its own inverse.
static LogicalResult reverseSequenceRule(NodeAdjoint &op) {
  op.set(0, op.b.create("ReverseSequence", {op.grad(), op.in(1)},
                        {op.b.attr("batch_axis", op.getInt("batch_axis")),
                         op.b.attr("time_axis", op.getInt("time_axis"))},
                        op.in(0).getType()));
  return success();
}

/// Elements that the op has set to zero have no gradient.
static LogicalResult triluRule(NodeAdjoint &op) {
  op.set(0, op.b.create("Trilu", {op.grad(), op.in(1)},
                        op.b.attr("upper", op.getInt("upper"))));
  return success();
}

static constexpr GradientRule dataMovementGradients[] = {
    {"CenterCropPad", centerCropPadRule},
    {"Concat", concatRule},
    {"DepthToSpace", depthToSpaceRule},
    {"Expand", expandRule},
    {"Flatten", reshapeRule},
    {"Reshape", reshapeRule},
    {"ReverseSequence", reverseSequenceRule},
    {"Slice", sliceRule},
    {"SpaceToDepth", spaceToDepthRule},
    {"Split", splitRule},
    {"Squeeze", squeezeRule},
    {"Tile", tileRule},
    {"Transpose", transposeRule},
    {"Trilu", triluRule},
    {"Unsqueeze", unsqueezeRule}};

ArrayRef<GradientRule> getDataMovementGradients() {
  return dataMovementGradients;
}

} // namespace mp
