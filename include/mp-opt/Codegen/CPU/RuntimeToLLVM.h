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

/// Adds patterns that make ops of the runtime dialect and allocations calls of
/// include/mp-opt/Runtime/Runtime.h.
void populateRuntimeToLLVMPatterns(const mlir::LLVMTypeConverter &converter,
                                   mlir::RewritePatternSet &patterns);

/// Adds only the pattern of runtime.scratch.
void populateScratchToLLVMPatterns(const mlir::LLVMTypeConverter &converter,
                                   mlir::RewritePatternSet &patterns);

/// Adds patterns that round f32 to bf16, and convert back, in integers: they
/// are exact for subnormals and NaNs on every processor.
void populateBFloat16Patterns(mlir::RewritePatternSet &patterns);

} // namespace mp

#endif // MPOPT_CODEGEN_CPU_RUNTIMETOLLVM_H
