//===- SettleMemory.cpp - Loops that carry memory -------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Lowering/Passes.h"

#include "mp-opt/Codegen/GPU/Partition/MaterializeMemory.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"

namespace mp {
#define GEN_PASS_DEF_SETTLEMEMORY
#include "Lowering/Passes.h.inc"

namespace {
struct SettleMemory : public impl::SettleMemoryBase<SettleMemory> {
  using SettleMemoryBase::SettleMemoryBase;

  void runOnOperation() override { materializeMemory(getOperation()); }
};
} // namespace
} // namespace mp
