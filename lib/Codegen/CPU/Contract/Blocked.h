//===- Blocked.h - Blocks of a contraction ----------------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_CODEGEN_CPU_CONTRACT_BLOCKED_H
#define MPOPT_LIB_CODEGEN_CPU_CONTRACT_BLOCKED_H

#include "Contraction.h"

namespace mp::kernel {

/// Emits the loops of `op` at the insertion point of `e`, through packed
/// micro-panels.
void emitBlocked(LoopBuilder &e, ContractOp op);

} // namespace mp::kernel

#endif // MPOPT_LIB_CODEGEN_CPU_CONTRACT_BLOCKED_H
