//===- NarrowTemporaries.cpp - Widened where it is read -------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Lowering/Passes.h"

#include "mp-opt/Codegen/Common/NarrowTemporaries.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace mp {
#define GEN_PASS_DEF_NARROWTEMPORARIES
#include "Lowering/Passes.h.inc"

namespace {
struct NarrowTemporaries
    : public impl::NarrowTemporariesBase<NarrowTemporaries> {
  using NarrowTemporariesBase::NarrowTemporariesBase;

  void runOnOperation() override { narrowTemporaries(getOperation()); }
};
} // namespace
} // namespace mp
