//===- RuntimeToLLVM.h - Calls of the run-time library ----------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_CODEGEN_CPU_RUNTIMETOLLVM_H
#define MPOPT_CODEGEN_CPU_RUNTIMETOLLVM_H

#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/IR/PatternMatch.h"

namespace mlir {
class SymbolTableCollection;
} // namespace mlir

namespace mp {

/// Ops of the runtime dialect and allocations as calls of
/// include/mp-opt/Runtime/Runtime.h.
void populateRuntimeToLLVMPatterns(const mlir::LLVMTypeConverter &converter,
                                   mlir::RewritePatternSet &patterns);

/// runtime.scratch alone.
void populateScratchToLLVMPatterns(const mlir::LLVMTypeConverter &converter,
                                   mlir::RewritePatternSet &patterns);

/// Rounding of f32 to bf16, and back, in integers: exact for subnormals and
/// NaNs on every processor.
void populateBFloat16Patterns(mlir::RewritePatternSet &patterns);

} // namespace mp

#endif // MPOPT_CODEGEN_CPU_RUNTIMETOLLVM_H
