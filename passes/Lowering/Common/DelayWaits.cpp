//===- DelayWaits.cpp - Compute while ranks reduce ------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Lowering/Passes.h"

#include "mp-opt/Codegen/Common/ReductionOverlap.h"

namespace mp {
#define GEN_PASS_DEF_DELAYWAITS
#include "Lowering/Passes.h.inc"

namespace {
struct DelayWaits : public impl::DelayWaitsBase<DelayWaits> {
  using DelayWaitsBase::DelayWaitsBase;

  void runOnOperation() override { delayWaits(getOperation(), together); }
};
} // namespace
} // namespace mp
