//===- SplitFilters.cpp - Convolutions as sums over filter positions ------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Lowering/Passes.h"

#include "mp-opt/Codegen/CPU/FilterSplitting.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace mp {
#define GEN_PASS_DEF_SPLITFILTERS
#include "Lowering/Passes.h.inc"

namespace {
struct SplitFilters : public impl::SplitFiltersBase<SplitFilters> {
  using SplitFiltersBase::SplitFiltersBase;

  void runOnOperation() override { splitFilters(getOperation()); }
};
} // namespace
} // namespace mp
