//===- Arithmetic.cpp - Gradients of arithmetic in standard ops -----------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../DecompositionTables.h"

using namespace mlir;
using namespace mp::onnxir;

namespace mp {

//===----------------------------------------------------------------------===//
// Softmax
//===----------------------------------------------------------------------===//

/// The sum over one axis; in ops without "_13", over all axes from there on.
static FailureOr<Value> sumOver(NodeDecomposition &op, Value value) {
  bool isFlat = !op.getOpType().ends_with("_13");
  int64_t axis = op.axis();
  if (!isFlat)
    return op.b.reduceSum(value, axis, /*keepDims=*/true);
  auto rank = NodeBuilder::getRank(value);
  if (!rank)
    return op.fail("the rank of its operands is unknown");
  if (axis < -*rank || axis > *rank)
    return op.fail("its attribute 'axis' is out of range");
  auto axes = llvm::to_vector(
      llvm::seq<int64_t>(axis < 0 ? axis + *rank : axis, *rank));
  return axes.empty() ? value : op.b.reduceSum(value, axes, true);
}

/// SoftmaxGrad(dY, Y) = (dY - sum(dY * Y)) * Y
static LogicalResult softmaxGrad(NodeDecomposition &op) {
  Value y = op.wide(1), product = op.b.mul(op.wide(0), y);
  FailureOr<Value> sum = sumOver(op, product);
  if (failed(sum))
    return failure();
  op.replace(op.b.sub(product, op.b.mul(y, *sum)));
  return success();
}

/// LogSoftmaxGrad(dY, Y) = dY - sum(dY) * exp(Y)
static LogicalResult logSoftmaxGrad(NodeDecomposition &op) {
  Value grad = op.wide(0);
  FailureOr<Value> sum = sumOver(op, grad);
  if (failed(sum))
    return failure();
  Value share = op.b.create("Exp", {op.wide(1)});
  op.replace(op.b.sub(grad, op.b.mul(share, *sum)));
  return success();
}

//===----------------------------------------------------------------------===//
// Division and scales
//===----------------------------------------------------------------------===//

/// DivGrad(dY, A, B): dY / B, and -dY * A / B^2.
static LogicalResult divGrad(NodeDecomposition &op) {
  Value a = op.wide(1), b = op.wide(2);
  Value quotient = op.b.div(op.wide(0), b);
  if (op.wants(0))
    op.replace(0, op.b.sumTo(quotient, a, b));
  if (op.wants(1)) {
    Value product = op.b.mul(quotient, op.b.div(a, b));
    op.replace(1, op.b.neg(op.b.sumTo(product, b, a)));
  }
  return success();
}

/// Scale(input, scale): a product, or a quotient if scale_down is set.
static LogicalResult scale(NodeDecomposition &op) {
  Value input = op.wide(0), factor = op.b.castLike(op.in(1), input);
  op.replace(
      op.b.create(op.getFlag("scale_down") ? "Div" : "Mul", {input, factor}));
  return success();
}

/// MixedPrecisionScale(S, X ...): each X times S in another element type, or
/// all of them in one vector.
static LogicalResult mixedPrecisionScale(NodeDecomposition &op) {
  Operation *node = op.getNode();
  Type to = getElementType(op.b.getContext(), ElementKind(op.getInt("to")));
  if (!isa_and_nonnull<FloatType>(to))
    return op.fail("its attribute 'to' is not a float type");
  bool isFused = op.getFlag("fuse_outputs");
  SmallVector<Value> all;
  for (unsigned index = 1; index < node->getNumOperands(); ++index) {
    Value x = op.wide(index);
    Value product = op.b.mul(x, op.b.castLike(op.in(0), x));
    Value value = op.b.castTo(product, to);
    if (isFused)
      all.push_back(op.b.reshape(value, {-1}));
    else if (op.wants(index - 1))
      op.replace(index - 1, value);
  }
  if (isFused)
    op.replace(op.b.concat(all, 0));
  return success();
}

/// ReduceAllL2(X ...): the norm of all elements of all operands.
static LogicalResult reduceAllL2(NodeDecomposition &op) {
  SmallVector<Value> squares;
  for (unsigned index = 0; index < op.getNumOperands(); ++index) {
    Value x = op.b.castTo(op.in(index), Float32Type::get(op.b.getContext()));
    if (isa<Float64Type>(getTensorElementType(op.in(index).getType())))
      x = op.in(index);
    squares.push_back(op.b.reduceSum(op.b.mul(x, x), {}, /*keepDims=*/false));
  }
  Value sum =
      squares.size() == 1 ? squares.front() : op.b.create("Sum", squares);
  op.replace(op.b.create("Sqrt", {sum}));
  return success();
}

//===----------------------------------------------------------------------===//
// Matrix products
//===----------------------------------------------------------------------===//

/// Operand `index` of FusedMatMul in the form for MatMul; null if the rank
/// matters and is unknown.
static Value arrange(NodeDecomposition &op, unsigned index, StringRef turn,
                     StringRef move) {
  Value value = op.in(index);
  bool isTurned = op.getFlag(turn);
  bool isMoved = op.getFlag(move);
  if (!isTurned && !isMoved)
    return value;
  auto rank = NodeBuilder::getRank(value);
  if (!rank)
    return {};
  // MatMul itself handles vectors.
  if (*rank < 2)
    return value;
  auto order = llvm::to_vector(llvm::seq<int64_t>(*rank));
  if (isMoved)
    std::rotate(order.begin(), order.begin() + 1, order.end() - 1);
  if (isTurned)
    std::swap(order[*rank - 2], order[*rank - 1]);
  return op.b.transpose(value, order);
}

/// FusedMatMul(A, B): alpha * A' * B'. An operand's first axis may move after
/// its batch axes, and its last two may be swapped.
static LogicalResult fusedMatMul(NodeDecomposition &op) {
  Value a = arrange(op, 0, "transA", "transBatchA");
  Value b = arrange(op, 1, "transB", "transBatchB");
  if (!a || !b)
    return op.fail("the rank of an operand is unknown");
  Value product = op.b.matmul(a, b);
  double alpha = op.getFloat("alpha");
  op.replace(alpha == 1 ? product : op.b.scale(product, alpha));
  return success();
}

static constexpr Decomposition arithmeticDecompositions[] = {
    {"com.microsoft.DivGrad", divGrad},
    {"com.microsoft.FusedMatMul", fusedMatMul, /*isContraction=*/true},
    {"com.microsoft.LogSoftmaxGrad", logSoftmaxGrad},
    {"com.microsoft.LogSoftmaxGrad_13", logSoftmaxGrad},
    {"com.microsoft.MixedPrecisionScale", mixedPrecisionScale},
    {"com.microsoft.ReduceAllL2", reduceAllL2},
    {"com.microsoft.Scale", scale},
    {"com.microsoft.SoftmaxGrad", softmaxGrad},
    {"com.microsoft.SoftmaxGrad_13", softmaxGrad},
    {"com.microsoft.TransposeMatMul", fusedMatMul, /*isContraction=*/true}};

ArrayRef<Decomposition> getArithmeticDecompositions() {
  return arithmeticDecompositions;
}

} // namespace mp
