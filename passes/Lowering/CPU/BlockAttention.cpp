//===- BlockAttention.cpp - Attention as loops over blocks ----------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Lowering/Passes.h"

#include "mp-opt/Codegen/CPU/Attention.h"
#include "mp-opt/Dialect/Kernel/Kernel.h"
#include "mp-opt/Dialect/Runtime/RuntimeOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace mp {
#define GEN_PASS_DEF_BLOCKATTENTION
#include "Lowering/Passes.h.inc"

namespace {
struct BlockAttention : public impl::BlockAttentionBase<BlockAttention> {
  using BlockAttentionBase::BlockAttentionBase;

  void runOnOperation() override {
    WalkResult result = getOperation()->walk([](Operation *op) -> WalkResult {
      if (!isa<kernel::AttentionOp, kernel::AttentionGradientOp>(op))
        return WalkResult::advance();
      for (Value operand : op->getOperands()) {
        auto type = dyn_cast<MemRefType>(operand.getType());
        if (!type || !type.hasStaticShape())
          return op->emitOpError("expected memrefs of known sizes, got ")
                 << operand.getType();
      }
      return WalkResult::advance();
    });
    if (result.wasInterrupted())
      return signalPassFailure();
    kernel::blockAttention(getOperation());
  }
};
} // namespace
} // namespace mp
