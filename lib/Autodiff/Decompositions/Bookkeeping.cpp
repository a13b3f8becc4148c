//===- Bookkeeping.cpp - Ops around gradients in standard ops -------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Decomposes ops of onnxruntime's training graphs that compute no gradients:
// they split tensors, pass them on, or check them.
//
//===----------------------------------------------------------------------===//

#include "../DecompositionTables.h"

using namespace mlir;
using namespace mp::onnxir;

namespace mp {

//===----------------------------------------------------------------------===//
// Splitting and joining
//===----------------------------------------------------------------------===//

/// ConcatTraining: Concat, which also yields the lengths of its operands.
static LogicalResult concatTraining(NodeDecomposition &op) {
  Operation *node = op.getNode();
  int64_t axis = op.axis();
  SmallVector<Value> operands(node->getOperands()), lengths;
  if (op.wants(0))
    op.replace(0, op.b.create("Concat", operands, op.b.attr("axis", axis)));
  if (op.wants(1)) {
    for (Value operand : operands)
      lengths.push_back(op.b.dimOf(operand, axis));
    op.replace(1,
               op.b.create("Concat", lengths, op.b.attr("axis", int64_t(0))));
  }
  return success();
}

/// SplitTraining: Split with sizes that need not be constant.
static LogicalResult splitTraining(NodeDecomposition &op) {
  Operation *node = op.getNode();
  SmallVector<Type> types(node->getResultTypes());
  Operation *split = op.b.createNode("Split", {op.in(0), op.in(1)}, types,
                                     op.b.attr("axis", op.axis()));
  for (unsigned index = 0; index < types.size(); ++index)
    if (op.wants(index))
      op.replace(index, split->getResult(index));
  return success();
}

/// View(input, shapes ...): the elements in the same order, in these shapes.
static LogicalResult view(NodeDecomposition &op) {
  NodeBuilder &b = op.b;
  Value flat = b.reshape(op.in(0), {-1}), start = b.ints(0);
  for (unsigned index = 0; index < op.getNode()->getNumResults(); ++index) {
    if (!op.has(index + 1))
      return op.fail("there is a result without a shape");
    Value shape = op.in(index + 1);
    Value length =
        b.create("ReduceProd", {shape}, b.attr("keepdims", int64_t(1)));
    Value end = b.add(start, length);
    if (op.wants(index)) {
      Value part = b.create("Slice", {flat, start, end, b.ints(0)});
      op.replace(index, b.reshape(part, shape));
    }
    start = end;
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Passing on
//===----------------------------------------------------------------------===//

static LogicalResult passThrough(NodeDecomposition &op) {
  for (unsigned index = 0; index < op.getNode()->getNumResults(); ++index) {
    if (!op.wants(index))
      continue;
    if (!op.has(index))
      return op.fail("there is a result without an operand");
    op.replace(index, op.b.create("Identity", {op.in(index)}));
  }
  return success();
}

/// ZeroGradient(old_gradient, reset_signal)
static LogicalResult zeroGradient(NodeDecomposition &op) {
  op.replace(op.b.zerosLike(op.in(0)));
  return success();
}

/// Group(X ...): true once all operands are computed.
static LogicalResult group(NodeDecomposition &op) {
  auto type = RankedTensorType::get({1}, op.b.getBuilder().getI1Type());
  Value done = op.b.constant(DenseElementsAttr::get(type, true));
  op.replace(op.b.create("Identity", {done}));
  return success();
}

//===----------------------------------------------------------------------===//
// Checks
//===----------------------------------------------------------------------===//

/// True if no element of `mask` is true, or if there are no elements.
static Value none(NodeDecomposition &op, Value mask) {
  Type type = op.b.getBuilder().getI64Type();
  Value count = op.b.reduceSum(op.b.castTo(mask, type), {}, /*keepDims=*/false);
  return op.b.create("Equal", {count, op.b.intScalar(0)});
}

/// IsInf only supports 16-bit floats from opset 20 on.
static Value isInfinite(NodeDecomposition &op, unsigned index) {
  return op.b.create("IsInf", {op.wide(index)});
}

static Value isNaN(NodeDecomposition &op, unsigned index) {
  return op.b.create("IsNaN", {op.in(index)});
}

static LogicalResult isFinite(NodeDecomposition &op) {
  Value isEither = op.b.create("Or", {isInfinite(op, 0), isNaN(op, 0)});
  op.replace(op.b.create("Not", {isEither}));
  return success();
}

/// IsAllFinite(X ...): true if no operand has an infinity or a NaN. An
/// attribute may limit the test to one of the two.
static LogicalResult isAllFinite(NodeDecomposition &op) {
  bool onlyInf = op.getFlag("isinf_only");
  bool onlyNaN = op.getFlag("isnan_only");
  if (onlyInf && onlyNaN)
    return op.fail("both 'isinf_only' and 'isnan_only' are set");
  Value all;
  for (unsigned index = 0; index < op.getNumOperands(); ++index) {
    Value mask = onlyNaN ? isNaN(op, index) : isInfinite(op, index);
    if (!onlyInf && !onlyNaN)
      mask = op.b.create("Or", {mask, isNaN(op, index)});
    Value isGood = none(op, mask);
    all = all ? op.b.create("And", {all, isGood}) : isGood;
  }
  op.replace(all ? all : op.b.boolScalar(true));
  return success();
}

static LogicalResult all(NodeDecomposition &op) {
  op.replace(none(op, op.b.create("Not", {op.in(0)})));
  return success();
}

static constexpr Decomposition bookkeepingDecompositions[] = {
    {"com.microsoft.All", all},
    {"com.microsoft.ConcatTraining", concatTraining},
    {"com.microsoft.Group", group},
    {"com.microsoft.IsAllFinite", isAllFinite},
    {"com.microsoft.IsFinite", isFinite},
    {"com.microsoft.PassThrough", passThrough},
    {"com.microsoft.SplitTraining", splitTraining},
    {"com.microsoft.View", view},
    {"com.microsoft.ZeroGradient", zeroGradient}};

ArrayRef<Decomposition> getBookkeepingDecompositions() {
  return bookkeepingDecompositions;
}

} // namespace mp
