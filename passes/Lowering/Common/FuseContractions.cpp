//===- FuseContractions.cpp - What is done in passing by kernels ----------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Lowering/Passes.h"

#include "mp-opt/Codegen/Common/ContractionFusion.h"
#include "mp-opt/Dialect/Kernel/Kernel.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace mp {
#define GEN_PASS_DEF_FUSECONTRACTIONS
#include "Lowering/Passes.h.inc"

namespace {
struct FuseContractions : public impl::FuseContractionsBase<FuseContractions> {
  using FuseContractionsBase::FuseContractionsBase;

  void runOnOperation() override {
    FusionLimits limits = FusionLimits::find(getOperation(), keepUpdates);
    mlir::RewritePatternSet patterns(&getContext());
    populateContractionFusionPatterns(patterns, limits);
    if (splitParts)
      kernel::populateSplitPatterns(patterns);
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};
} // namespace
} // namespace mp
