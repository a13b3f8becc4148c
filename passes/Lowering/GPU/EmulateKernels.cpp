//===- EmulateKernels.cpp - Kernels as code of the host -------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Lowering/Passes.h"

#include "mp-opt/Codegen/GPU/KernelEmulation.h"
#include "mp-opt/Dialect/Device/DeviceOps.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

namespace mp {
#define GEN_PASS_DEF_EMULATEKERNELS
#include "Lowering/Passes.h.inc"

namespace {
class EmulateKernels : public impl::EmulateKernelsBase<EmulateKernels> {
  using EmulateKernelsBase::EmulateKernelsBase;

  void runOnOperation() override {
    if (failed(emulateKernels(getOperation(), {checkRaces})))
      return signalPassFailure();
    // MLIR's tools, which do not know it, take the module from here.
    getOperation()->removeAttr(device::targetName);
  }
};
} // namespace
} // namespace mp
