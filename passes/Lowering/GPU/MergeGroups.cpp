//===- MergeGroups.cpp - Fewer kernels ------------------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Lowering/Passes.h"

#include "mp-opt/Codegen/GPU/Partition/MergeGroups.h"
#include "mp-opt/Dialect/Device/DeviceOps.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

namespace mp {
#define GEN_PASS_DEF_MERGEGROUPS
#include "Lowering/Passes.h.inc"

namespace {
struct MergeGroups : public impl::MergeGroupsBase<MergeGroups> {
  using MergeGroupsBase::MergeGroupsBase;

  void runOnOperation() override { mergeGroups(getOperation()); }
};
} // namespace
} // namespace mp
