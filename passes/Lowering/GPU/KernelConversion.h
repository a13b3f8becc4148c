//===- KernelConversion.h - Kernels in LLVM's dialect -----------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The common part of the conversions to the dialects of all vendors.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_PASSES_LOWERING_GPU_KERNELCONVERSION_H
#define MPOPT_PASSES_LOWERING_GPU_KERNELCONVERSION_H

#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Transforms/DialectConversion.h"

namespace mp {

/// Expands ops that have no direct equivalent in LLVM's dialect.
mlir::LogicalResult expandForLLVM(mlir::gpu::GPUModuleOp kernels);

/// Adds patterns from the dialects below gpu to the types of `converter`:
/// LLVM's intrinsics, and dynamic shared memory as a global without size. They
/// have priority over patterns that call a vendor's library.
void populateKernelPatterns(const mlir::LLVMTypeConverter &converter,
                            mlir::RewritePatternSet &patterns);

/// Calls `convert` with the module's ops whose indices have 32 bits, which
/// devices compute faster in, and with those that need 64.
mlir::LogicalResult convertByIndexBits(
    mlir::gpu::GPUModuleOp kernels,
    llvm::function_ref<mlir::LogicalResult(
        llvm::ArrayRef<mlir::Operation *> ops, unsigned indexBits)>
        convert);

} // namespace mp

#endif // MPOPT_PASSES_LOWERING_GPU_KERNELCONVERSION_H
