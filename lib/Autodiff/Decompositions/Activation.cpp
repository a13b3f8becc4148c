//===- Activation.cpp - Gradients of activations in standard ops ----------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../DecompositionTables.h"

using namespace mlir;

namespace mp {

/// ReluGrad(dY, X): X may be the operand of Relu or its result.
static LogicalResult reluGrad(NodeDecomposition &op) {
  Value isPositive =
      op.b.create("Greater", {op.in(1), op.b.scalarLike(0, op.in(1))});
  op.replace(op.b.where(isPositive, op.in(0), op.b.scalarLike(0, op.in(0))));
  return success();
}

static constexpr Decomposition table[] = {{"com.microsoft.ReluGrad", reluGrad}};

ArrayRef<Decomposition> getActivationDecompositions() { return table; }

} // namespace mp
