//===- GPUTarget.cpp - The GPU that kernels are made for ------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Codegen/GPU/GPUTarget.h"

#include "mlir/IR/BuiltinOps.h"

using namespace mlir;

namespace mp::kernel {

static constexpr StringRef chips[] = {"gfx942", "gfx1100"};

ArrayRef<StringRef> getChips() { return chips; }

std::optional<GPUTarget> GPUTarget::find(StringRef chip) {
  if (chip == chips[0])
    return GPUTarget{Multiplier::MFMA, /*hasAsyncCopies=*/false, 64 * 1024};
  if (chip == chips[1])
    return GPUTarget{Multiplier::WMMA, /*hasAsyncCopies=*/false, 64 * 1024};
  return std::nullopt;
}

GPUTarget GPUTarget::get(Operation *op) {
  // Kernels are in their own module, inside of the module with the attribute.
  for (auto module = op->getParentOfType<ModuleOp>(); module;
       module = module->getParentOfType<ModuleOp>())
    if (auto chip = module->getAttrOfType<StringAttr>(chipName))
      return find(chip).value_or(GPUTarget());
  return GPUTarget();
}

} // namespace mp::kernel
