//===- InsertStamps.cpp - When kernels begin and end ----------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Lowering/Passes.h"

#include "mp-opt/Codegen/CPU/Timestamps.h"
#include "mp-opt/Dialect/Device/DeviceOps.h"
#include "mp-opt/Dialect/Runtime/RuntimeOps.h"

namespace mp {
#define GEN_PASS_DEF_INSERTSTAMPS
#include "Lowering/Passes.h.inc"

namespace {
struct InsertStamps : public impl::InsertStampsBase<InsertStamps> {
  using InsertStampsBase::InsertStampsBase;

  void runOnOperation() override { insertTimestamps(getOperation()); }
};
} // namespace
} // namespace mp
