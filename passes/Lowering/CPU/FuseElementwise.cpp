//===- FuseElementwise.cpp - Chains of elementwise ops --------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Lowering/Passes.h"

#include "mp-opt/Codegen/Common/ElementwiseFusion.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace mp {
#define GEN_PASS_DEF_FUSEELEMENTWISE
#include "Lowering/Passes.h.inc"

namespace {
struct FuseElementwise : public impl::FuseElementwiseBase<FuseElementwise> {
  using FuseElementwiseBase::FuseElementwiseBase;

  void runOnOperation() override { fuseElementwise(getOperation()); }
};
} // namespace
} // namespace mp
