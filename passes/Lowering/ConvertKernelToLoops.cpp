//===- ConvertKernelToLoops.cpp - Write contractions as kernels -----------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Lowering/Passes.h"

#include "mp-opt/Conversion/KernelToLoops.h"
#include "mp-opt/Dialect/Kernel/Kernel.h"
#include "mp-opt/Dialect/Runtime/RuntimeOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace mp {
#define GEN_PASS_DEF_CONVERTKERNELTOLOOPS
#include "Lowering/Passes.h.inc"

namespace {
class ConvertKernelToLoops
    : public impl::ConvertKernelToLoopsBase<ConvertKernelToLoops> {
  using ConvertKernelToLoopsBase::ConvertKernelToLoopsBase;

  void runOnOperation() override {
    std::optional<kernel::KernelTarget> target =
        kernel::getKernelTarget(isa, form);
    if (!target) {
      getOperation().emitError()
          << "expected isa native, avx512, avx2 or neon and form auto, direct, "
             "widen, dot or amx, the latter two with avx512, got '"
          << isa << "' and '" << form << "'";
      return signalPassFailure();
    }
    auto set = [](int64_t &value, int64_t wanted) {
      value = wanted > 0 ? wanted : value;
    };
    set(target->rows, rows);
    set(target->columnVectors, vectors);
    for (auto *blocking : {&target->blocking, &target->deepTiles}) {
      set(blocking->depth, depth);
      set(blocking->rows, blockRows);
      set(blocking->columns, blockColumns);
    }
    if (failed(kernel::convertContracts(getOperation(), *target)))
      signalPassFailure();
  }
};
} // namespace
} // namespace mp
