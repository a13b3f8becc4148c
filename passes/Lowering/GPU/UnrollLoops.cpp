//===- UnrollLoops.cpp - Loops as launches for each iteration -------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Lowering/Passes.h"

#include "mp-opt/Codegen/GPU/Partition/UnrollLoops.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace mp {
#define GEN_PASS_DEF_UNROLLLOOPS
#include "Lowering/Passes.h.inc"

namespace {
struct UnrollLoops : public impl::UnrollLoopsBase<UnrollLoops> {
  using UnrollLoopsBase::UnrollLoopsBase;

  void runOnOperation() override {
    if (failed(unrollLoops(getOperation())))
      signalPassFailure();
  }
};
} // namespace
} // namespace mp
