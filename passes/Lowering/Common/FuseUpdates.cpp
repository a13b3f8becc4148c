//===- FuseUpdates.cpp - What a step does to a state, at once -------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Lowering/Passes.h"

#include "mp-opt/Codegen/Common/UpdateFusion.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace mp {
#define GEN_PASS_DEF_FUSEUPDATES
#include "Lowering/Passes.h.inc"

namespace {
struct FuseUpdates : public impl::FuseUpdatesBase<FuseUpdates> {
  using FuseUpdatesBase::FuseUpdatesBase;

  void runOnOperation() override { fuseUpdates(getOperation()); }
};
} // namespace
} // namespace mp
