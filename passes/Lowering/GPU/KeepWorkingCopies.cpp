//===- KeepWorkingCopies.cpp - 16-bit copies of parameters ----------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Lowering/Passes.h"

#include "mp-opt/Codegen/GPU/Partition/WorkingCopies.h"
#include "mp-opt/Dialect/Device/DeviceOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

namespace mp {
#define GEN_PASS_DEF_KEEPWORKINGCOPIES
#include "Lowering/Passes.h.inc"

namespace {
struct KeepWorkingCopies
    : public impl::KeepWorkingCopiesBase<KeepWorkingCopies> {
  using KeepWorkingCopiesBase::KeepWorkingCopiesBase;

  void runOnOperation() override { addWorkingCopies(getOperation()); }
};
} // namespace
} // namespace mp
