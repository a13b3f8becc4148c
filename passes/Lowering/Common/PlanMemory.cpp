//===- PlanMemory.cpp - One piece of memory for all temporaries -----------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Lowering/Passes.h"

#include "mp-opt/Codegen/Common/MemoryPlan.h"
#include "mp-opt/Codegen/Target/Target.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

namespace mp {
#define GEN_PASS_DEF_PLANMEMORY
#include "Lowering/Passes.h.inc"

namespace {
struct PlanMemory : public impl::PlanMemoryBase<PlanMemory> {
  using PlanMemoryBase::PlanMemoryBase;

  void runOnOperation() override {
    bool forDevice = alignment > 0;
    planMemory(getOperation(),
               forDevice ? alignment : getNumbers(getOperation()).lineBytes,
               forDevice);
  }
};
} // namespace
} // namespace mp
