//===- ConvertKernelScratchToLLVM.cpp - Memory of threads -----------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Lowering/Passes.h"

#include "mp-opt/Conversion/RuntimeToLLVM.h"
#include "mp-opt/Dialect/Kernel/Kernel.h"

#include "mlir/Conversion/LLVMCommon/ConversionTarget.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Transforms/DialectConversion.h"

namespace mp {
#define GEN_PASS_DEF_CONVERTKERNELSCRATCHTOLLVM
#include "Lowering/Passes.h.inc"

namespace {
class ConvertKernelScratchToLLVM
    : public impl::ConvertKernelScratchToLLVMBase<ConvertKernelScratchToLLVM> {
  using ConvertKernelScratchToLLVMBase::ConvertKernelScratchToLLVMBase;

  void runOnOperation() override {
    mlir::LLVMTypeConverter converter(&getContext());
    mlir::LLVMConversionTarget target(getContext());
    target.addIllegalOp<kernel::ScratchOp>();
    mlir::RewritePatternSet patterns(&getContext());
    populateScratchToLLVMPatterns(converter, patterns);
    if (failed(applyPartialConversion(getOperation(), target,
                                      std::move(patterns))))
      signalPassFailure();
  }
};
} // namespace
} // namespace mp
