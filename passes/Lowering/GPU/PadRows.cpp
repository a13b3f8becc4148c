//===- PadRows.cpp - Rows at aligned addresses ----------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Lowering/Passes.h"

#include "mp-opt/Codegen/GPU/Partition/PadRows.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"

namespace mp {
#define GEN_PASS_DEF_PADROWS
#include "Lowering/Passes.h.inc"

namespace {
struct PadRows : public impl::PadRowsBase<PadRows> {
  using PadRowsBase::PadRowsBase;

  void runOnOperation() override { padRows(getOperation()); }
};
} // namespace
} // namespace mp
