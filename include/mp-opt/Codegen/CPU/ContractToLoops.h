//===- ContractToLoops.h - Kernels for contractions -------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Writes loops for contractions on memrefs, as their configs say: packed
// micro-panels, a register-tiled micro-kernel, fused stores.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_CODEGEN_CPU_CONTRACTTOLOOPS_H
#define MPOPT_CODEGEN_CPU_CONTRACTTOLOOPS_H

#include "mp-opt/Dialect/Kernel/Kernel.h"

namespace mp::kernel {

/// Replaces `op`, which is alone in its function, by its loops. Fails after an
/// error if its config does not fit.
mlir::LogicalResult lowerContract(ContractOp op);

} // namespace mp::kernel

#endif // MPOPT_CODEGEN_CPU_CONTRACTTOLOOPS_H
