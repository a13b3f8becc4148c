//===- RecomputeElementwise.cpp - Values that readers compute themselves --===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Lowering/Passes.h"

#include "mp-opt/Codegen/Common/ElementwiseFusion.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace mp {
#define GEN_PASS_DEF_RECOMPUTEELEMENTWISE
#include "Lowering/Passes.h.inc"

namespace {
struct RecomputeElementwise
    : public impl::RecomputeElementwiseBase<RecomputeElementwise> {
  using RecomputeElementwiseBase::RecomputeElementwiseBase;

  void runOnOperation() override {
    recomputeElementwise(getOperation(), linesOnly);
  }
};
} // namespace
} // namespace mp
