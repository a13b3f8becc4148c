//===- ConvertKernelsToNVVM.cpp - Kernels in NVVM's dialect ---------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// MLIR's pass of this kind makes calls of libdevice of LLVM's intrinsics, for
// most of which NVPTX has instructions.
//
//===----------------------------------------------------------------------===//

#include "Lowering/Passes.h"

#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/GPUToNVVM/GPUToNVVMPass.h"
#include "mlir/Conversion/LLVMCommon/ConversionTarget.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/MemRefToLLVM/MemRefToLLVM.h"
#include "mlir/Conversion/UBToLLVM/UBToLLVM.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVM.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/GPU/Transforms/Passes.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/Transforms/LoweringPatterns.h"
#include "mlir/Transforms/DialectConversion.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace mp {
#define GEN_PASS_DEF_CONVERTKERNELSTONVVM
#include "Lowering/Passes.h.inc"
} // namespace mp

using namespace mlir;
using namespace mp;

namespace {

struct ConvertKernelsToNVVM
    : public mp::impl::ConvertKernelsToNVVMBase<ConvertKernelsToNVVM> {
  using ConvertKernelsToNVVMBase::ConvertKernelsToNVVMBase;

  void runOnOperation() override;

private:
  unsigned getIndexBits();
  LogicalResult expand();
};

} // namespace

/// Addresses within memory of less than 2 GB are counted in 32 bits, in which
/// devices compute faster.
unsigned ConvertKernelsToNVVM::getIndexBits() {
  bool isBig = false;
  getOperation().walk([&](Operation *op) {
    auto check = [&](Type type) {
      auto memref = dyn_cast<MemRefType>(type);
      if (!memref || !memref.hasStaticShape())
        return;
      auto [strides, offset] = memref.getStridesAndOffset();
      int64_t reach = 1;
      for (auto [stride, size] : llvm::zip(strides, memref.getShape()))
        reach = std::max(reach, stride * size);
      isBig |= reach > INT32_MAX / 8;
    };
    llvm::for_each(op->getResultTypes(), check);
    for (Region &region : op->getRegions())
      for (Block &block : region)
        llvm::for_each(block.getArgumentTypes(), check);
  });
  return isBig ? 64 : 32;
}

/// What has no direct form in LLVM's dialect.
LogicalResult ConvertKernelsToNVVM::expand() {
  RewritePatternSet patterns(&getContext());
  populateGpuRewritePatterns(patterns);
  vector::populateVectorBroadcastLoweringPatterns(patterns);
  vector::populateVectorFromElementsUnrollPatterns(patterns);
  return applyPatternsGreedily(getOperation(), std::move(patterns));
}

void ConvertKernelsToNVVM::runOnOperation() {
  if (failed(expand()))
    return signalPassFailure();
  LowerToLLVMOptions options(&getContext());
  options.useBarePtrCallConv = true;
  options.overrideIndexBitwidth(getIndexBits());
  LLVMTypeConverter converter(&getContext(), options);
  configureGpuToNVVMTypeConverter(converter);
  RewritePatternSet patterns(&getContext());
  arith::populateArithToLLVMConversionPatterns(converter, patterns);
  cf::populateControlFlowToLLVMConversionPatterns(converter, patterns);
  populateFinalizeMemRefToLLVMConversionPatterns(converter, patterns);
  // Before those that call libdevice.
  populateMathToLLVMConversionPatterns(converter, patterns,
                                       /*approximateLog1p=*/true,
                                       /*benefit=*/2);
  populateVectorToLLVMConversionPatterns(converter, patterns);
  ub::populateUBToLLVMConversionPatterns(converter, patterns);
  populateGpuToNVVMConversionPatterns(converter, patterns);
  LLVMConversionTarget target(getContext());
  target.addIllegalDialect<gpu::GPUDialect>();
  target.addLegalDialect<LLVM::LLVMDialect, NVVM::NVVMDialect>();
  target.addLegalOp<gpu::GPUModuleOp>();
  if (failed(
          applyPartialConversion(getOperation(), target, std::move(patterns))))
    signalPassFailure();
}
