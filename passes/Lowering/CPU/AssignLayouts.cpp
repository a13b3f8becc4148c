//===- AssignLayouts.cpp - The order of axes in memory --------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Lowering/Passes.h"

#include "mp-opt/Codegen/CPU/Layouts.h"
#include "mp-opt/Dialect/Kernel/Kernel.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace mp {
#define GEN_PASS_DEF_ASSIGNLAYOUTS
#include "Lowering/Passes.h.inc"

namespace {
struct AssignLayouts : public impl::AssignLayoutsBase<AssignLayouts> {
  using AssignLayoutsBase::AssignLayoutsBase;

  void runOnOperation() override {
    assignLayouts(getOperation(), channelsLast ? LayoutChoice::ChannelsLast
                                               : LayoutChoice::Automatic);
  }
};
} // namespace
} // namespace mp
