//===- Activation.cpp - Gradients of activation functions -----------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../Rules.h"

using namespace mlir;

namespace mp {

static LogicalResult reluRule(NodeAdjoint &op) {
  // The result tells as much as the operand, and is kept anyway.
  op.set(0, op.b.create("com.microsoft.ReluGrad", {op.grad(), op.out()}, {},
                        op.in(0).getType()));
  return success();
}

static constexpr GradientRule rules[] = {{"Relu", reluRule}};

ArrayRef<GradientRule> getActivationRules() { return rules; }

} // namespace mp
