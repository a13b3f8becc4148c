//===- AddRankKernels.cpp - Kernels that ranks reduce with ----------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Lowering/Passes.h"

#include "mp-opt/Codegen/GPU/Emit/RankKernels.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace mp {
#define GEN_PASS_DEF_ADDRANKKERNELS
#include "Lowering/Passes.h.inc"

namespace {
struct AddRankKernels : public impl::AddRankKernelsBase<AddRankKernels> {
  using AddRankKernelsBase::AddRankKernelsBase;

  void runOnOperation() override { addRankKernels(getOperation()); }
};
} // namespace
} // namespace mp
