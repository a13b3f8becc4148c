//===- SetGPU.cpp - Which GPU kernels are for -----------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Lowering/Passes.h"

#include "mp-opt/Codegen/Target/KnownTargets.h"
#include "mp-opt/Dialect/Device/DeviceOps.h"

#include "mlir/IR/Builders.h"

using namespace mlir;

namespace mp {
#define GEN_PASS_DEF_SETGPU
#include "Lowering/Passes.h.inc"

namespace {
struct SetGPU : public impl::SetGPUBase<SetGPU> {
  using SetGPUBase::SetGPUBase;

  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<device::DeviceDialect>();
  }

  void runOnOperation() override {
    const GPUTarget *target = GPUTarget::find(chip);
    if (!target || target->multiplier == kernel::Multiplier::MMA) {
      getOperation().emitError()
          << "chip: expected gfx942 or gfx1100, got '" << chip << "'";
      return signalPassFailure();
    }
    getOperation()->setAttr(
        device::targetName,
        device::TargetAttr::get(&getContext(), chip,
                                device::FP32Products::Exact));
  }
};
} // namespace
} // namespace mp
