//===- FuseRows.cpp - Reductions and what surrounds them, row by row ------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Lowering/Passes.h"

#include "mp-opt/Codegen/Common/RowFusion.h"
#include "mp-opt/Codegen/Target/KnownTargets.h"
#include "mp-opt/Codegen/Target/Target.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace mp {
#define GEN_PASS_DEF_FUSEROWS
#include "Lowering/Passes.h.inc"

namespace {
struct FuseRows : public impl::FuseRowsBase<FuseRows> {
  using FuseRowsBase::FuseRowsBase;

  void runOnOperation() override {
    TargetNumbers numbers = getNumbers(getOperation());
    RowLimits limits = {numbers.rowElements,
                        singleRows ? 0 : numbers.rowBlockElements};
    if (singleRows) {
      limits.lineElements = 1 << 17;
      limits.manyRows = GPUTarget::get(getOperation()).manyBlocks;
    }
    if (failed(fuseRows(getOperation(), limits)))
      signalPassFailure();
  }
};
} // namespace
} // namespace mp
