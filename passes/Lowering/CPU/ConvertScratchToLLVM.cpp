//===- ConvertScratchToLLVM.cpp - Memory of threads -----------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Lowering/Passes.h"

#include "mp-opt/Codegen/CPU/RuntimeToLLVM.h"
#include "mp-opt/Dialect/MP/AttributeNames.h"
#include "mp-opt/Dialect/Runtime/RuntimeOps.h"

#include "mlir/Conversion/LLVMCommon/ConversionTarget.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Transforms/DialectConversion.h"

namespace mp {
#define GEN_PASS_DEF_CONVERTSCRATCHTOLLVM
#include "Lowering/Passes.h.inc"

namespace {
class ConvertScratchToLLVM
    : public impl::ConvertScratchToLLVMBase<ConvertScratchToLLVM> {
  using ConvertScratchToLLVMBase::ConvertScratchToLLVMBase;

  void runOnOperation() override {
    mlir::LLVMTypeConverter converter(&getContext());
    mlir::LLVMConversionTarget target(getContext());
    target.addIllegalOp<runtime::ScratchOp>();
    mlir::RewritePatternSet patterns(&getContext());
    populateScratchToLLVMPatterns(converter, patterns);
    if (failed(applyPartialConversion(getOperation(), target,
                                      std::move(patterns))))
      return signalPassFailure();
    getOperation()->removeAttr(mark::target);
  }
};
} // namespace
} // namespace mp
