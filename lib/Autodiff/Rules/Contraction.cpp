//===- Contraction.cpp - Gradients of matrix products ---------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../Rules.h"

using namespace mlir;

namespace mp {

/// Sums over batch axes along which `like` was broadcast; the last two axes of
/// both are a matrix.
static Value sumBatch(NodeAdjoint &op, Value value, Value like, Value other) {
  return op.b.sumTo(value, like, other);
}

static LogicalResult matMulRule(NodeAdjoint &op) {
  Value a = op.in(0), b = op.in(1), grad = op.grad();
  auto rankA = NodeBuilder::getRank(a), rankB = NodeBuilder::getRank(b);
  if (!rankA || !rankB)
    return op.fail("the ranks of its operands are unknown");
  if (!*rankA || !*rankB)
    return op.fail("it has no product of scalars");
  // Vectors become matrices of one row or column.
  if (*rankB == 1)
    grad = op.b.unsqueeze(grad, -1);
  if (*rankA == 1)
    grad = op.b.unsqueeze(grad, -2);
  Value matrixA = *rankA == 1 ? op.b.unsqueeze(a, 0) : a;
  Value matrixB = *rankB == 1 ? op.b.unsqueeze(b, 1) : b;
  if (op.wants(0)) {
    Value product = op.b.matmul(grad, op.b.transposeLast(matrixB));
    Value sum = sumBatch(op, product, matrixA, {});
    op.set(0, *rankA == 1 ? op.b.squeeze(sum, 0) : sum);
  }
  if (op.wants(1)) {
    // For many rows times one matrix, the batch axes join the rows.
    if (*rankB == 2 && *rankA > 2) {
      auto typeA = cast<RankedTensorType>(a.getType());
      auto typeB = cast<RankedTensorType>(b.getType());
      int64_t inner = typeA.getDimSize(*rankA - 1);
      if (inner == ShapedType::kDynamic)
        inner = typeB.getDimSize(0);
      int64_t columns = typeB.getDimSize(1);
      if (inner > 0 && columns > 0) {
        Value rows = op.b.reshape(a, {-1, inner});
        Value gradRows = op.b.reshape(grad, {-1, columns});
        op.set(1, op.b.matmul(op.b.transposeLast(rows), gradRows));
        return success();
      }
    }
    Value product = op.b.matmul(op.b.transposeLast(matrixA), grad);
    Value sum = sumBatch(op, product, matrixB, {});
    op.set(1, *rankB == 1 ? op.b.squeeze(sum, 1) : sum);
  }
  return success();
}

/// Y = alpha * A' * B' + beta * C, A' and B' transposed or not.
static LogicalResult gemmRule(NodeAdjoint &op) {
  bool transA = op.getFlag("transA"), transB = op.getFlag("transB");
  NamedAttribute alpha = op.b.floatAttr("alpha", op.getFloat("alpha"));
  auto gemm = [&](Value a, bool turnA, Value b, bool turnB) {
    return op.b.create("Gemm", {a, b},
                       {alpha, op.b.attr("transA", int64_t(turnA)),
                        op.b.attr("transB", int64_t(turnB))});
  };
  if (op.wants(0))
    op.set(0, transA ? gemm(op.in(1), transB, op.grad(), true)
                     : gemm(op.grad(), false, op.in(1), !transB));
  if (op.wants(1))
    op.set(1, transB ? gemm(op.grad(), true, op.in(0), transA)
                     : gemm(op.in(0), !transA, op.grad(), false));
  if (op.wants(2)) {
    Value sum = op.b.sumTo(op.grad(), op.in(2));
    double beta = op.getFloat("beta");
    op.set(2, beta == 1 ? sum : op.b.scale(sum, beta));
  }
  return success();
}

//===----------------------------------------------------------------------===//
// FusedMatMul
//===----------------------------------------------------------------------===//

namespace {

/// An operand of FusedMatMul: transposed, or with its first axis moved after
/// the batch axes, or both.
struct FusedOperand {
  Value value;
  bool isTransposed, movesBatch;
};

} // namespace

static Value fusedMatMul(NodeAdjoint &op, FusedOperand a, FusedOperand b) {
  NodeBuilder &builder = op.b;
  double alpha = op.getFloat("alpha");
  return builder.create("com.microsoft.FusedMatMul", {a.value, b.value},
                        {builder.floatAttr("alpha", alpha),
                         builder.attr("transA", int64_t(a.isTransposed)),
                         builder.attr("transB", int64_t(b.isTransposed)),
                         builder.attr("transBatchA", int64_t(a.movesBatch)),
                         builder.attr("transBatchB", int64_t(b.movesBatch))});
}

/// Fits `product`, with batch axes first, to `operand`, which may have another
/// order, and fewer batch axes.
static Value fitOperand(NodeAdjoint &op, Value product, FusedOperand operand,
                        int64_t rank) {
  if (!operand.movesBatch)
    return op.b.sumTo(product, operand.value);
  SmallVector<int64_t> forth, back{rank - 2};
  for (int64_t axis = 1; axis < rank - 1; ++axis)
    forth.push_back(axis);
  for (int64_t axis = 0; axis < rank - 2; ++axis)
    back.push_back(axis);
  forth.append({0, rank - 1});
  back.push_back(rank - 1);
  Value moved = op.b.transpose(operand.value, forth);
  return op.b.transpose(op.b.sumTo(product, moved), back);
}

/// ONNX's inference does not support the op; the rank of its result is that of
/// its operands.
static void refineRank(Value value, int64_t rank) {
  Type element = onnxir::getTensorElementType(value.getType());
  SmallVector<int64_t> sizes(rank, ShapedType::kDynamic);
  value.setType(NodeTypes::refine(value.getType(),
                                  RankedTensorType::get(sizes, element)));
}

/// Y = alpha * A' * B', with transposed or rearranged operands.
static LogicalResult fusedMatMulRule(NodeAdjoint &op) {
  FusedOperand grad{op.grad(), false, false};
  FusedOperand a{op.in(0), op.getFlag("transA"), op.getFlag("transBatchA")};
  FusedOperand b{op.in(1), op.getFlag("transB"), op.getFlag("transBatchB")};
  auto rankA = NodeBuilder::getRank(a.value);
  auto rankB = NodeBuilder::getRank(b.value);
  if (!rankA || !rankB)
    return op.fail("the ranks of its operands are unknown");
  if (*rankA < 2 || *rankB < 2)
    return op.fail("an operand is not a matrix");
  refineRank(op.grad(), std::max(*rankA, *rankB));
  auto turn = [](FusedOperand operand) {
    return FusedOperand{operand.value, !operand.isTransposed,
                        operand.movesBatch};
  };
  if (op.wants(0)) {
    Value product = a.isTransposed ? fusedMatMul(op, b, turn(grad))
                                   : fusedMatMul(op, grad, turn(b));
    op.set(0, fitOperand(op, product, a, *rankA));
  }
  if (op.wants(1)) {
    Value product = b.isTransposed ? fusedMatMul(op, turn(grad), a)
                                   : fusedMatMul(op, turn(a), grad);
    op.set(1, fitOperand(op, product, b, *rankB));
  }
  return success();
}

static constexpr GradientRule contractionGradients[] = {
    {"Gemm", gemmRule},
    {"MatMul", matMulRule},
    {"com.microsoft.FusedMatMul", fusedMatMulRule}};

ArrayRef<GradientRule> getContractionGradients() {
  return contractionGradients;
}

} // namespace mp
