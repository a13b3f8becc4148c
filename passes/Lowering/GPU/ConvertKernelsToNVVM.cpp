//===- ConvertKernelsToNVVM.cpp - Kernels in NVVM's dialect ---------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// MLIR's own pass turns LLVM's intrinsics into calls of libdevice, although
// NVPTX has instructions for most of them.
//
//===----------------------------------------------------------------------===//

#include "Lowering/Passes.h"

#include "KernelConversion.h"

#include "mlir/Conversion/GPUToNVVM/GPUToNVVMPass.h"
#include "mlir/Conversion/LLVMCommon/ConversionTarget.h"
#include "mlir/Conversion/NVGPUToNVVM/NVGPUToNVVM.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/NVGPU/IR/NVGPUDialect.h"

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
};
} // namespace

static LogicalResult convert(MLIRContext *context, ArrayRef<Operation *> ops,
                             unsigned indexBits) {
  LowerToLLVMOptions options(context);
  options.useBarePtrCallConv = true;
  options.overrideIndexBitwidth(indexBits);
  LLVMTypeConverter converter(context, options);
  configureGpuToNVVMTypeConverter(converter);
  converter.addConversion([](nvgpu::DeviceAsyncTokenType type) -> Type {
    return IntegerType::get(type.getContext(), 32);
  });
  RewritePatternSet patterns(context);
  populateKernelPatterns(converter, patterns);
  populateNVGPUToNVVMConversionPatterns(converter, patterns);
  populateGpuToNVVMConversionPatterns(converter, patterns);
  LLVMConversionTarget target(*context);
  target.addIllegalDialect<gpu::GPUDialect, nvgpu::NVGPUDialect>();
  target.addLegalDialect<LLVM::LLVMDialect, NVVM::NVVMDialect>();
  return applyPartialConversion(ops, target, std::move(patterns));
}

void ConvertKernelsToNVVM::runOnOperation() {
  if (failed(expandForLLVM(getOperation())) ||
      failed(convertByIndexBits(
          getOperation(), [&](ArrayRef<Operation *> ops, unsigned indexBits) {
            return convert(&getContext(), ops, indexBits);
          })))
    signalPassFailure();
}
