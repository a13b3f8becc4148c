//===- ConvertKernelScratchToLLVM.cpp - Memory of threads -----------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Lowering/Passes.h"

#include "mp-opt/Conversion/KernelToLoops.h"
#include "mp-opt/Dialect/Kernel/Kernel.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

namespace mp {
#define GEN_PASS_DEF_CONVERTKERNELSCRATCHTOLLVM
#include "Lowering/Passes.h.inc"

namespace {
class ConvertKernelScratchToLLVM
    : public impl::ConvertKernelScratchToLLVMBase<ConvertKernelScratchToLLVM> {
  using ConvertKernelScratchToLLVMBase::ConvertKernelScratchToLLVMBase;

  void runOnOperation() override { kernel::convertScratch(getOperation()); }
};
} // namespace
} // namespace mp
