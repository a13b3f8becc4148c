//===- Contraction.cpp - Matrix products ----------------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Products of floats are kernels; those of integers are plain loops.
//
//===----------------------------------------------------------------------===//

#include "../Contractions.h"
#include "../Rules.h"

using namespace mlir;

namespace mp {

/// A matrix product of operands whose ranks are at least 2. Transposes swap
/// their last two axes.
static LogicalResult multiply(NodeLowering &node, MatrixProduct product) {
  FailureOr<TensorValue> result = product.emit(node);
  if (failed(result))
    return failure();
  node.set(*result);
  return success();
}

static LogicalResult matmulRule(NodeLowering &node) {
  MatrixProduct product;
  product.a = node.in(0);
  product.b = node.in(1);
  product.element = node.outElement();
  return multiply(node, product);
}

static LogicalResult gemmRule(NodeLowering &node) {
  MatrixProduct product;
  product.a = node.in(0);
  product.b = node.in(1);
  product.element = node.outElement();
  product.transposeA = node.getFlag("transA");
  product.transposeB = node.getFlag("transB");
  product.alpha = node.getFloat("alpha");
  double beta = node.getFloat("beta");
  if (product.a.getRank() != 2 || product.b.getRank() != 2)
    return node.fail("operands of Gemm are matrices");
  if (node.has(2) && beta != 0) {
    product.bias = node.in(2);
    product.beta = beta;
  }
  return multiply(node, product);
}

static LogicalResult fusedMatmulRule(NodeLowering &node) {
  MatrixProduct product;
  if (node.getFlag("transBatchA") || node.getFlag("transBatchB"))
    return node.fail("transposed batches cannot be compiled");
  product.a = node.in(0);
  product.b = node.in(1);
  product.element = node.outElement();
  product.transposeA = node.getFlag("transA");
  product.transposeB = node.getFlag("transB");
  product.alpha = node.getFloat("alpha");
  return multiply(node, product);
}

ArrayRef<LoweringRule> getContractionLowerings() {
  static const LoweringRule rules[] = {
      {"Gemm", gemmRule},
      {"MatMul", matmulRule},
      {"com.microsoft.FusedMatMul", fusedMatmulRule},
  };
  return rules;
}

} // namespace mp
