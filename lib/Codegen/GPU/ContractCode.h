//===- ContractCode.h - Contractions as plain loops -------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_CODEGEN_GPU_CONTRACTCODE_H
#define MPOPT_LIB_CODEGEN_GPU_CONTRACTCODE_H

#include "ThreadLoops.h"
#include "mp-opt/Codegen/GPU/Contract.h"
#include "mp-opt/Dialect/Kernel/Kernel.h"

namespace mp {

/// Elements of the result.
int64_t countResults(kernel::ContractOp op);

/// Code of any contraction on memrefs of known sizes, in front of the op: a
/// thread for each element of the result. For what is small, or inside of a
/// loop of one block.
void emitContractLoops(mlir::RewriterBase &b, kernel::ContractOp op,
                       const Threads &threads);

/// A tile for each block of a kernel: those of the first contraction, then
/// those of the next one, which differs from it in memory alone. The ops are
/// erased.
kernel::ContractLaunch
emitContractTiles(mlir::RewriterBase &b,
                  llvm::ArrayRef<kernel::ContractOp> alike);

} // namespace mp

#endif // MPOPT_LIB_CODEGEN_GPU_CONTRACTCODE_H
