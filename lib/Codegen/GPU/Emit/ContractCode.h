//===- ContractCode.h - Contractions as plain loops -------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_CODEGEN_GPU_EMIT_CONTRACTCODE_H
#define MPOPT_LIB_CODEGEN_GPU_EMIT_CONTRACTCODE_H

#include "ThreadLoops.h"
#include "mp-opt/Codegen/GPU/Contract.h"
#include "mp-opt/Dialect/Kernel/Kernel.h"

namespace mp {

/// The number of elements of the result.
int64_t countResults(kernel::ContractOp op);

/// Emits code before the op for any contraction on memrefs of known sizes: one
/// thread computes each element of the result. It suits small contractions and
/// those inside a loop of one block.
void emitContractLoops(mlir::RewriterBase &b, kernel::ContractOp op,
                       const Threads &threads);

/// Emits a tile for each block of a kernel: those of the first contraction,
/// then those of the next one, which differs from it only in memory. Erases the
/// ops.
void emitContractTiles(mlir::RewriterBase &b,
                       llvm::ArrayRef<kernel::ContractOp> identical);

} // namespace mp

#endif // MPOPT_LIB_CODEGEN_GPU_EMIT_CONTRACTCODE_H
