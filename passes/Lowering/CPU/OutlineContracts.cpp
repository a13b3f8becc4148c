//===- OutlineContracts.cpp - One function for equal contractions ---------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Lowering/Passes.h"

#include "mp-opt/Codegen/CPU/OutlineContracts.h"
#include "mp-opt/Dialect/Kernel/Kernel.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

namespace mp {
#define GEN_PASS_DEF_OUTLINECONTRACTS
#include "Lowering/Passes.h.inc"

namespace {
struct OutlineContracts : public impl::OutlineContractsBase<OutlineContracts> {
  using OutlineContractsBase::OutlineContractsBase;

  void runOnOperation() override {
    mlir::WalkResult result =
        getOperation().walk([](kernel::ContractOp op) -> mlir::WalkResult {
          if (mlir::isa<mlir::MemRefType>(op.getC().getType()))
            return mlir::WalkResult::advance();
          return op.emitError() << "expected a contraction of memrefs, got "
                                << op.getC().getType();
        });
    if (result.wasInterrupted())
      return signalPassFailure();
    kernel::outlineContracts(getOperation());
  }
};
} // namespace
} // namespace mp
