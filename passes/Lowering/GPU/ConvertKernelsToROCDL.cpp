//===- ConvertKernelsToROCDL.cpp - Kernels in ROCDL's dialect ------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Lowering/Passes.h"

#include "KernelConversion.h"

#include "mlir/Conversion/GPUCommon/GPUCommonPass.h"
#include "mlir/Conversion/GPUToROCDL/GPUToROCDLPass.h"
#include "mlir/Conversion/LLVMCommon/ConversionTarget.h"
#include "mlir/Dialect/AMDGPU/Utils/Chipset.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/LLVMIR/ROCDLDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/NVGPU/IR/NVGPUDialect.h"

namespace mp {
#define GEN_PASS_DEF_CONVERTKERNELSTOROCDL
#include "Lowering/Passes.h.inc"
} // namespace mp

using namespace mlir;
using namespace mp;

namespace {
struct ConvertKernelsToROCDL
    : public mp::impl::ConvertKernelsToROCDLBase<ConvertKernelsToROCDL> {
  using ConvertKernelsToROCDLBase::ConvertKernelsToROCDLBase;

  void runOnOperation() override;
};
} // namespace

/// Refuses ops of other devices, and functions of a library that is not linked.
static LogicalResult refuseForeign(gpu::GPUModuleOp kernels, StringRef chip) {
  bool isFine = true;
  kernels.walk([&](Operation *op) {
    if (isa<nvgpu::NVGPUDialect, NVVM::NVVMDialect>(op->getDialect())) {
      op->emitOpError() << "expected ops that " << chip
                        << " has, got one of NVIDIA's devices";
      isFine = false;
    }
    auto function = dyn_cast<LLVM::LLVMFuncOp>(op);
    if (function && function.isExternal()) {
      op->emitError() << "'" << function.getName() << "' is called, which "
                      << chip << " does not have without a library";
      isFine = false;
    }
  });
  return success(isFine);
}

/// Moves a thread's private memory into its address space.
static void placePrivateMemory(gpu::GPUModuleOp kernels) {
  SmallVector<memref::AllocaOp> allocas;
  kernels.walk([&](memref::AllocaOp op) {
    if (!op.getType().getMemorySpace())
      allocas.push_back(op);
  });
  for (memref::AllocaOp op : allocas) {
    OpBuilder b(op);
    MemRefType type = op.getType();
    auto space =
        gpu::AddressSpaceAttr::get(b.getContext(), gpu::AddressSpace::Private);
    auto own = MemRefType::get(type.getShape(), type.getElementType(),
                               type.getLayout(), space);
    Value memory =
        memref::AllocaOp::create(b, op.getLoc(), own, op.getAlignmentAttr());
    op.replaceAllUsesWith(
        memref::MemorySpaceCastOp::create(b, op.getLoc(), type, memory)
            .getResult());
    op.erase();
  }
}

static LogicalResult convert(MLIRContext *context, ArrayRef<Operation *> ops,
                             unsigned indexBits, amdgpu::Chipset chip) {
  LowerToLLVMOptions options(context);
  options.useBarePtrCallConv = true;
  options.overrideIndexBitwidth(indexBits);
  LLVMTypeConverter converter(context, options);
  populateGpuMemorySpaceAttributeConversions(
      converter, [](gpu::AddressSpace space) -> unsigned {
        switch (space) {
        case gpu::AddressSpace::Global:
          return ROCDL::ROCDLDialect::kGlobalMemoryAddressSpace;
        case gpu::AddressSpace::Workgroup:
          return ROCDL::ROCDLDialect::kSharedMemoryAddressSpace;
        case gpu::AddressSpace::Private:
          return ROCDL::ROCDLDialect::kPrivateMemoryAddressSpace;
        default:
          return 0;
        }
      });
  RewritePatternSet patterns(context);
  populateKernelPatterns(converter, patterns);
  populateGpuToROCDLConversionPatterns(converter, patterns,
                                       gpu::amd::Runtime::HIP, chip);
  LLVMConversionTarget target(*context);
  target.addIllegalDialect<gpu::GPUDialect>();
  target.addLegalDialect<LLVM::LLVMDialect, ROCDL::ROCDLDialect>();
  return applyPartialConversion(ops, target, std::move(patterns));
}

void ConvertKernelsToROCDL::runOnOperation() {
  FailureOr<amdgpu::Chipset> known = failure();
  if (chip == "gfx942" || chip == "gfx1100")
    known = amdgpu::Chipset::parse(chip);
  if (failed(known)) {
    getOperation().emitError()
        << "chip: expected gfx942 or gfx1100, got '" << chip << "'";
    return signalPassFailure();
  }
  if (failed(refuseForeign(getOperation(), chip)))
    return signalPassFailure();
  placePrivateMemory(getOperation());
  if (failed(expandForLLVM(getOperation())) ||
      failed(convertByIndexBits(
          getOperation(),
          [&](ArrayRef<Operation *> ops, unsigned indexBits) {
            return convert(&getContext(), ops, indexBits, *known);
          })) ||
      failed(refuseForeign(getOperation(), chip)))
    signalPassFailure();
}
