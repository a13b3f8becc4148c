//===- FuseAttention.cpp - Attention out of its products ------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Lowering/Passes.h"

#include "mp-opt/Codegen/CPU/Attention.h"
#include "mp-opt/Codegen/GPU/Attention.h"
#include "mp-opt/Dialect/Kernel/Kernel.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace mp {
#define GEN_PASS_DEF_FUSEATTENTION
#include "Lowering/Passes.h.inc"

namespace {
struct FuseAttention : public impl::FuseAttentionBase<FuseAttention> {
  using FuseAttentionBase::FuseAttentionBase;

  void runOnOperation() override {
    AttentionLimits limits{minScores, minHeadScores};
    fuseAttention(getOperation(), [&](const AttentionFacts &facts) {
      return onProcessor ? findProcessorMisfit(facts, limits)
                         : findKernelMisfit(facts);
    });
  }
};
} // namespace
} // namespace mp
