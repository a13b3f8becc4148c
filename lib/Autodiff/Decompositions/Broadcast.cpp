//===- Broadcast.cpp - Sums over broadcast axes in standard ops -----------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../DecompositionTables.h"

using namespace mlir;

namespace mp {

/// The sizes `shape`, extended to `rank` of them by -1 at the front.
static Value padShape(NodeDecomposition &op, Value shape, Value rank) {
  Value missing = op.b.sub(rank, op.b.shapeOf(shape));
  return op.b.concat({op.b.expand(op.b.ints(-1), missing), shape}, 0);
}

/// BroadcastGradientArgs(a, b): the axes of the common shape along which
/// operands of these shapes were broadcast: those that an operand does not
/// have, and those where it has a size of 1 and the other does not.
static LogicalResult broadcastGradientArgs(NodeDecomposition &op) {
  Value rankA = op.b.shapeOf(op.in(0)), rankB = op.b.shapeOf(op.in(1));
  Value rank = op.b.create("Max", {rankA, rankB});
  Value sizes[] = {padShape(op, op.in(0), rank), padShape(op, op.in(1), rank)};
  Value zero = op.b.ints(0), one = op.b.ints(1);
  for (unsigned index : {0, 1}) {
    if (!op.wants(index))
      continue;
    Value size = sizes[index], other = sizes[1 - index];
    // Missing axes of the other operand count as ones.
    Value isOther = op.b.create(
        "Not", {op.b.create("Equal", {op.b.create("Abs", {other}), one})});
    Value isStretched =
        op.b.create("And", {op.b.create("Equal", {size, one}), isOther});
    Value isMissing = op.b.create("Less", {size, zero});
    Value axes =
        op.b.create("NonZero", {op.b.create("Or", {isMissing, isStretched})});
    op.replace(index, op.b.reshape(axes, ArrayRef<int64_t>(-1)));
  }
  return success();
}

/// ReduceSumTraining: ReduceSum with axes that need not be constant.
static LogicalResult reduceSumTraining(NodeDecomposition &op) {
  Operation *node = op.getNode();
  SmallVector<NamedAttribute> attributes;
  for (StringRef name : {"keepdims", "noop_with_empty_axes"})
    if (Attribute value = node->getAttr(name))
      attributes.emplace_back(op.b.getBuilder().getStringAttr(name), value);
  op.replace(op.b.create("ReduceSum", {op.in(0), op.in(1)}, attributes));
  return success();
}

static constexpr Decomposition broadcastDecompositions[] = {
    {"com.microsoft.BroadcastGradientArgs", broadcastGradientArgs},
    {"com.microsoft.ReduceSumTraining", reduceSumTraining}};

ArrayRef<Decomposition> getBroadcastDecompositions() {
  return broadcastDecompositions;
}

} // namespace mp
