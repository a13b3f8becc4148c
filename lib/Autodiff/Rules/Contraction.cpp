//===- Contraction.cpp - Gradients of matrix products ---------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../Rules.h"

using namespace mlir;

namespace mp {

/// The sum over batch axes along which `like` was broadcast; the last two axes
/// of both are those of a matrix.
static Value sumBatch(NodeAdjoint &op, Value value, Value like, Value other) {
  return op.b.sumTo(value, like, other);
}

static LogicalResult matMulRule(NodeAdjoint &op) {
  Value a = op.in(0), b = op.in(1), grad = op.grad();
  auto rankA = NodeBuilder::getRank(a), rankB = NodeBuilder::getRank(b);
  if (!rankA || !rankB)
    return op.fail("the ranks of its operands are unknown");
  // Vectors are matrices of one row or column.
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
    // Many rows times one matrix: the batch axes join the rows.
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
  Operation *node = op.getNode();
  bool transA = getInt(node, "transA", 0), transB = getInt(node, "transB", 0);
  NamedAttribute alpha = op.b.floatAttr("alpha", getFloat(node, "alpha", 1));
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
    double beta = getFloat(node, "beta", 1);
    op.set(2, beta == 1 ? sum : op.b.scale(sum, beta));
  }
  return success();
}

static constexpr GradientRule rules[] = {{"Gemm", gemmRule},
                                         {"MatMul", matMulRule}};

ArrayRef<GradientRule> getContractionRules() { return rules; }

} // namespace mp
