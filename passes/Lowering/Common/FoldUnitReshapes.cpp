//===- FoldUnitReshapes.cpp - Reshapes that add or drop ones --------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Lowering/Passes.h"

#include "mp-opt/Codegen/Common/UnitReshapes.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace mp {
#define GEN_PASS_DEF_FOLDUNITRESHAPES
#include "Lowering/Passes.h.inc"

namespace {
struct FoldUnitReshapes : public impl::FoldUnitReshapesBase<FoldUnitReshapes> {
  using FoldUnitReshapesBase::FoldUnitReshapesBase;

  void runOnOperation() override {
    foldUnitReshapes(getOperation(), vectorsOnly);
  }
};
} // namespace
} // namespace mp
