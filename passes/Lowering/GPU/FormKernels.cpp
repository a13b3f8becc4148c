//===- FormKernels.cpp - Divide main into groups --------------------------
//===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Lowering/Passes.h"

#include "mp-opt/Codegen/GPU/Partition/FormKernels.h"
#include "mp-opt/Dialect/Device/DeviceOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

namespace mp {
#define GEN_PASS_DEF_FORMKERNELS
#include "Lowering/Passes.h.inc"

namespace {
struct FormKernels : public impl::FormKernelsBase<FormKernels> {
  using FormKernelsBase::FormKernelsBase;

  void runOnOperation() override {
    if (failed(formKernels(getOperation())))
      signalPassFailure();
  }
};
} // namespace
} // namespace mp
