//===- JoinReductions.cpp - Reductions that read once ---------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Lowering/Passes.h"

#include "mp-opt/Codegen/GPU/Reductions.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace mp {
#define GEN_PASS_DEF_JOINREDUCTIONS
#include "Lowering/Passes.h.inc"

namespace {
struct JoinReductions : public impl::JoinReductionsBase<JoinReductions> {
  using JoinReductionsBase::JoinReductionsBase;

  void runOnOperation() override {
    shiftVariances(getOperation());
    joinReductions(getOperation());
  }
};
} // namespace
} // namespace mp
