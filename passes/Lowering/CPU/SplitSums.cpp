//===- SplitSums.cpp - Long sums as sums of parts -------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Lowering/Passes.h"

#include "mp-opt/Codegen/CPU/SumSplitting.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace mp {
#define GEN_PASS_DEF_SPLITSUMS
#include "Lowering/Passes.h.inc"

namespace {
struct SplitSums : public impl::SplitSumsBase<SplitSums> {
  using SplitSumsBase::SplitSumsBase;

  void runOnOperation() override { splitSums(getOperation()); }
};
} // namespace
} // namespace mp
