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
// Peak rates are from NVIDIA's data sheets of the products and, for the RTX
// 4090, from the appendix of "NVIDIA Ada GPU Architecture"; rates with sparsity
// are halved. Gigabytes there are 10^9 bytes. Numbers and limits of
// multiprocessors, caches and clocks are from the white papers of the
// architectures (Ampere, Hopper, Ada) and from "Technical Specifications per
// Compute Capability" of the CUDA C++ Programming Guide.
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

//===----------------------------------------------------------------------===//
// Chips
//===----------------------------------------------------------------------===//

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

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

static constexpr uint64_t gigabytes = 1'000'000'000;
static constexpr double giga = 1e9, tera = 1e12;

static constexpr unsigned kilobyte = 1024, megabyte = 1024 * kilobyte;

static constexpr DeviceModel models[] = {
    {"a100", "A100 80GB SXM", 80 * gigabytes, 2039 * giga, 312 * tera,
     19.5 * tera, 9.7 * tera, "sm_80", 108, 40 * megabyte, 1.41 * giga, 2048,
     32, 164 * kilobyte},
    {"h100", "H100 SXM", 80 * gigabytes, 3350 * giga, 989 * tera, 67 * tera,
     34 * tera, "sm_90a", 132, 50 * megabyte, 1.98 * giga, 2048, 32,
     228 * kilobyte},
    {"h200", "H200 SXM", 141 * gigabytes, 4800 * giga, 989 * tera, 67 * tera,
     34 * tera, "sm_90a", 132, 50 * megabyte, 1.98 * giga, 2048, 32,
     228 * kilobyte},
    {"l4", "L4", 24 * gigabytes, 300 * giga, 121 * tera, 30.3 * tera,
     0.47 * tera, "sm_89", 58, 48 * megabyte, 2.04 * giga, 1536, 24,
     100 * kilobyte},
    {"l40s", "L40S", 48 * gigabytes, 864 * giga, 362 * tera, 91.6 * tera,
     1.4 * tera, "sm_89", 142, 96 * megabyte, 2.52 * giga, 1536, 24,
     100 * kilobyte},
    {"rtx4090", "GeForce RTX 4090", 24 * gigabytes, 1008 * giga, 165 * tera,
     82.6 * tera, 1.3 * tera, "sm_89", 128, 72 * megabyte, 2.52 * giga, 1536,
     24, 100 * kilobyte},
};

const DeviceModel *findDeviceModel(llvm::StringRef name) {
  for (const DeviceModel &model : models)
    if (model.name == name)
      return &model;
  return nullptr;
}

std::string listDeviceModels() {
  std::string text;
  for (const DeviceModel &model : models) {
    bool isLast = &model == std::end(models) - 1;
    text += (text.empty() ? "" : isLast ? " or " : ", ") + model.name.str();
  }
  return text;
}

} // namespace mp
