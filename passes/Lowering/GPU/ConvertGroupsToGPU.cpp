//===- ConvertGroupsToGPU.cpp - Functions for a GPU -----------------------
//===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Lowering/Passes.h"

#include "mp-opt/Codegen/GPU/Emit/GroupsToGPU.h"
#include "mp-opt/Dialect/Device/DeviceOps.h"
#include "mp-opt/Dialect/Kernel/Kernel.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/NVGPU/IR/NVGPUDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace mp {
#define GEN_PASS_DEF_CONVERTGROUPSTOGPU
#include "Lowering/Passes.h.inc"

namespace {
struct ConvertGroupsToGPU
    : public impl::ConvertGroupsToGPUBase<ConvertGroupsToGPU> {
  using ConvertGroupsToGPUBase::ConvertGroupsToGPUBase;

  void runOnOperation() override {
    if (failed(convertGroupsToGPU(getOperation())))
      return signalPassFailure();
    kernel::lowerArgSelects(getOperation());
  }
};
} // namespace
} // namespace mp
