//===- SplitReductions.cpp - Long reductions in two stages ----------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Lowering/Passes.h"

#include "mp-opt/Codegen/GPU/Partition/SplitReductions.h"
#include "mp-opt/Dialect/Device/DeviceOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

namespace mp {
#define GEN_PASS_DEF_SPLITREDUCTIONS
#include "Lowering/Passes.h.inc"

namespace {
struct SplitReductions : public impl::SplitReductionsBase<SplitReductions> {
  using SplitReductionsBase::SplitReductionsBase;

  void runOnOperation() override {
    splitReductions(getOperation(), maxPartialBytes);
  }
};
} // namespace
} // namespace mp
