//===- KernelConversion.cpp - Kernels in LLVM's dialect -------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelConversion.h"

#include "mp-opt/Dialect/Device/DeviceOps.h"

#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/LLVMCommon/Pattern.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/MemRefToLLVM/MemRefToLLVM.h"
#include "mlir/Conversion/UBToLLVM/UBToLLVM.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVM.h"
#include "mlir/Dialect/GPU/Transforms/Passes.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/Transforms/LoweringPatterns.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;

namespace mp {

/// The address space of shared memory, for all vendors.
constexpr unsigned sharedSpace = 3;

namespace {
/// Dynamic shared memory is one array of unknown size. MLIR's pattern makes a
/// variable without size of it, which ptxas lays over others.
struct DynamicSharedMemoryLowering
    : public ConvertOpToLLVMPattern<gpu::DynamicSharedMemoryOp> {
  using ConvertOpToLLVMPattern::ConvertOpToLLVMPattern;

  LogicalResult
  matchAndRewrite(gpu::DynamicSharedMemoryOp op, OpAdaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    auto kernels = op->getParentOfType<gpu::GPUModuleOp>();
    auto global = kernels.lookupSymbol<LLVM::GlobalOp>(device::sharedName);
    if (!global) {
      OpBuilder::InsertionGuard guard(rewriter);
      rewriter.setInsertionPointToStart(kernels.getBody());
      auto type = LLVM::LLVMArrayType::get(rewriter.getI8Type(), 0);
      global = LLVM::GlobalOp::create(
          rewriter, loc, type, /*isConstant=*/false, LLVM::Linkage::External,
          device::sharedName, Attribute(), /*alignment=*/1024, sharedSpace);
    }
    Value begin = LLVM::AddressOfOp::create(rewriter, loc, global);
    auto memory = MemRefDescriptor::poison(
        rewriter, loc, getTypeConverter()->convertType(op.getType()));
    memory.setAllocatedPtr(rewriter, loc, begin);
    memory.setAlignedPtr(rewriter, loc, begin);
    memory.setConstantOffset(rewriter, loc, 0);
    memory.setConstantSize(rewriter, loc, 0, 0);
    memory.setConstantStride(rewriter, loc, 0, 1);
    rewriter.replaceOp(op, {memory});
    return success();
  }
};

} // namespace

/// True if indices into memory of this type may exceed 32 bits, or if it holds
/// indices, which must have the same width everywhere.
static bool needsLongIndex(Type type) {
  auto memref = dyn_cast<MemRefType>(type);
  if (!memref || !memref.hasStaticShape())
    return false;
  auto [strides, offset] = memref.getStridesAndOffset();
  int64_t reach = 1;
  for (auto [stride, size] : llvm::zip(strides, memref.getShape()))
    reach = std::max(reach, stride * size);
  return reach > INT32_MAX / 8 || memref.getElementType().isIndex();
}

/// Numbers of 64 bits that the model computes may be indices out of any range.
static bool hasLongIndex(Operation *op) {
  auto isLong = [](Value value) {
    return getElementTypeOrSelf(value.getType()).isInteger(64);
  };
  if (isa<arith::IndexCastOp, arith::IndexCastUIOp>(op))
    return isLong(op->getOperand(0));
  auto constant = dyn_cast<arith::ConstantIndexOp>(op);
  return constant && !llvm::isInt<32>(constant.value());
}

/// Devices compute faster in 32 bits.
static unsigned getIndexBits(Operation *kernel) {
  auto found = kernel->walk([](Operation *op) {
    bool isLong =
        hasLongIndex(op) || llvm::any_of(op->getResultTypes(), needsLongIndex);
    for (Region &region : op->getRegions())
      for (Block &block : region)
        isLong |= llvm::any_of(block.getArgumentTypes(), needsLongIndex);
    return isLong ? WalkResult::interrupt() : WalkResult::advance();
  });
  return found.wasInterrupted() ? 64 : 32;
}

namespace {
/// LLVM's intrinsics, since MLIR's patterns for GPUs call a library.
template <typename From, typename To>
struct UseIntrinsic : public OpRewritePattern<From> {
  using OpRewritePattern<From>::OpRewritePattern;

  LogicalResult matchAndRewrite(From op, PatternRewriter &b) const override {
    b.replaceOpWithNewOp<To>(op, op.getType(), op->getOperands());
    return success();
  }
};
} // namespace

LogicalResult expandForLLVM(gpu::GPUModuleOp kernels) {
  RewritePatternSet patterns(kernels.getContext());
  populateGpuRewritePatterns(patterns);
  vector::populateVectorBroadcastLoweringPatterns(patterns);
  vector::populateVectorFromElementsUnrollPatterns(patterns);
  patterns.add<UseIntrinsic<arith::MaxNumFOp, LLVM::MaxNumOp>,
               UseIntrinsic<arith::MinNumFOp, LLVM::MinNumOp>>(
      kernels.getContext());
  return applyPatternsGreedily(kernels, std::move(patterns));
}

void populateKernelPatterns(const LLVMTypeConverter &converter,
                            RewritePatternSet &patterns) {
  arith::populateArithToLLVMConversionPatterns(converter, patterns);
  cf::populateControlFlowToLLVMConversionPatterns(converter, patterns);
  populateFinalizeMemRefToLLVMConversionPatterns(converter, patterns);
  populateMathToLLVMConversionPatterns(converter, patterns,
                                       /*approximateLog1p=*/true,
                                       /*benefit=*/2);
  populateVectorToLLVMConversionPatterns(converter, patterns);
  ub::populateUBToLLVMConversionPatterns(converter, patterns);
  patterns.add<DynamicSharedMemoryLowering>(converter, /*benefit=*/2);
}

LogicalResult convertByIndexBits(
    gpu::GPUModuleOp kernels,
    function_ref<LogicalResult(ArrayRef<Operation *>, unsigned)> convert) {
  SmallVector<Operation *> shortKernels, longKernels;
  for (Operation &op : *kernels.getBody())
    (getIndexBits(&op) == 32 ? shortKernels : longKernels).push_back(&op);
  if (failed(convert(shortKernels, 32)))
    return failure();
  return convert(longKernels, 64);
}

} // namespace mp
