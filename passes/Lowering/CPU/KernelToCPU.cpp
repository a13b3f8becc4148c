//===- KernelToCPU.cpp - Write contractions as loops ----------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Lowering/Passes.h"

#include "mp-opt/Codegen/CPU/ContractToLoops.h"
#include "mp-opt/Dialect/Runtime/RuntimeOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace mp {
#define GEN_PASS_DEF_KERNELTOCPU
#include "Lowering/Passes.h.inc"

namespace {
struct KernelToCPU : public impl::KernelToCPUBase<KernelToCPU> {
  using KernelToCPUBase::KernelToCPUBase;

  void runOnOperation() override {
    SmallVector<kernel::ContractOp> ops;
    getOperation().walk([&](kernel::ContractOp op) { ops.push_back(op); });
    for (kernel::ContractOp op : ops)
      if (failed(lower(op)))
        return signalPassFailure();
  }

private:
  static LogicalResult lower(kernel::ContractOp op) {
    auto function = dyn_cast<func::FuncOp>(op->getParentOp());
    if (!function || !function.isPrivate() ||
        !llvm::hasSingleElement(function.getOps<kernel::ContractOp>()))
      return op.emitError("expected a contraction in a function of its own, as "
                          "kernel-outline-contracts makes it");
    return kernel::lowerContract(op);
  }
};
} // namespace
} // namespace mp
