//===- AdvanceUpdates.cpp - When states are written -----------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Lowering/Passes.h"

#include "mp-opt/Codegen/Common/UpdateOrder.h"

namespace mp {
#define GEN_PASS_DEF_ADVANCEUPDATES
#include "Lowering/Passes.h.inc"

namespace {
struct AdvanceUpdates : public impl::AdvanceUpdatesBase<AdvanceUpdates> {
  using AdvanceUpdatesBase::AdvanceUpdatesBase;

  void runOnOperation() override {
    advanceUpdates(getOperation(), contractionsOnly);
  }
};
} // namespace
} // namespace mp
