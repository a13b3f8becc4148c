//===- KnownTargets.cpp - Properties of GPUs ------------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Limits of NVIDIA's chips are those of GPULimits.h. AMD's chips have 64 KiB of
// shared memory (LDS) for a block ("CDNA 3" and "RDNA 3" Instruction Set
// Architecture).
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Codegen/Target/KnownTargets.h"

#include "mp-opt/Codegen/Target/GPULimits.h"
#include "mp-opt/Dialect/Device/DeviceOps.h"
#include "mp-opt/Runtime/Plan.h"

using namespace mlir;

namespace mp {

static_assert(device::maxThreads == MP_PLAN_MAX_THREADS);

using kernel::Multiplier;

static constexpr GPUTarget targets[] = {
    {"sm_80", Multiplier::MMA, /*hasAsyncCopies=*/true, device::maxShared},
    {"gfx942", Multiplier::MFMA, /*hasAsyncCopies=*/false, 64 * 1024},
    {"gfx1100", Multiplier::WMMA, /*hasAsyncCopies=*/false, 64 * 1024},
};

const GPUTarget *GPUTarget::find(StringRef chip) {
  for (const GPUTarget &target : targets)
    if (target.chip == chip)
      return &target;
  return nullptr;
}

/// Null if the module has none. Kernels are in their own module, inside of the
/// module with the attribute.
static device::TargetAttr findAttribute(Operation *op) {
  for (auto module = op->getParentOfType<ModuleOp>(); module;
       module = module->getParentOfType<ModuleOp>())
    if (auto target =
            module->getAttrOfType<device::TargetAttr>(device::targetName))
      return target;
  return nullptr;
}

const GPUTarget &GPUTarget::get(Operation *op) {
  device::TargetAttr attribute = findAttribute(op);
  const GPUTarget *found = attribute ? find(attribute.getChip()) : nullptr;
  return found ? *found : targets[0];
}

bool allowsTF32(Operation *op) {
  device::TargetAttr attribute = findAttribute(op);
  return attribute && attribute.getFp32Products() == device::FP32Products::TF32;
}

} // namespace mp
