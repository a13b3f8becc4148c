//===- SplitTaps.cpp - Convolutions as sums over taps
//-----------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Lowering/Passes.h"

#include "mp-opt/Codegen/Common/TapSplitting.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace mp {
#define GEN_PASS_DEF_SPLITTAPS
#include "Lowering/Passes.h.inc"

namespace {
struct SplitTaps : public impl::SplitTapsBase<SplitTaps> {
  using SplitTapsBase::SplitTapsBase;

  void runOnOperation() override { splitTaps(getOperation()); }
};
} // namespace
} // namespace mp
