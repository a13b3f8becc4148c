//===- SetGPU.cpp - Which GPU kernels are for -----------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Lowering/Passes.h"

#include "mp-opt/Codegen/GPU/GPUTarget.h"

#include "mlir/IR/Builders.h"

using namespace mlir;

namespace mp {
#define GEN_PASS_DEF_SETGPU
#include "Lowering/Passes.h.inc"

namespace {
struct SetGPU : public impl::SetGPUBase<SetGPU> {
  using SetGPUBase::SetGPUBase;

  void runOnOperation() override {
    if (!kernel::GPUTarget::find(chip)) {
      getOperation().emitError()
          << "chip: expected " << llvm::join(kernel::getChips(), " or ")
          << ", got '" << chip << "'";
      return signalPassFailure();
    }
    getOperation()->setAttr(kernel::chipName,
                            StringAttr::get(&getContext(), chip));
  }
};
} // namespace
} // namespace mp
