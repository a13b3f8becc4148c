//===- Convolution.cpp - Gradients of convolutions in standard ops --------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../DecompositionTables.h"
#include "../WindowGradients.h"

using namespace mlir;

namespace mp {

/// ConvGrad(dY, X, W) -> dX, dW, dB.
static LogicalResult decomposeConv(NodeDecomposition &op, bool isTransposed) {
  Convolution convolution{op.getNode(), op.in(0), op.in(1), op.in(2),
                          isTransposed};
  auto windows = readConvolution(op.b, convolution);
  if (!windows)
    return op.fail("expected operands of known rank, and attributes that fit");
  std::array<bool, 3> wanted{op.wants(0), op.wants(1), op.wants(2)};
  auto found = getConvGradients(op.b, convolution, *windows, wanted);
  for (unsigned index : {0, 1, 2})
    if (found[index])
      op.replace(index, found[index]);
  return success();
}

static LogicalResult convGrad(NodeDecomposition &op) {
  return decomposeConv(op, /*isTransposed=*/false);
}

static LogicalResult convTransposeGrad(NodeDecomposition &op) {
  return decomposeConv(op, /*isTransposed=*/true);
}

static constexpr Decomposition convolutionDecompositions[] = {
    {"ConvGrad", convGrad, /*isContraction=*/true},
    {"com.microsoft.ConvGrad", convGrad, /*isContraction=*/true},
    {"com.microsoft.ConvTransposeGrad", convTransposeGrad,
     /*isContraction=*/true}};

ArrayRef<Decomposition> getConvolutionDecompositions() {
  return convolutionDecompositions;
}

} // namespace mp
