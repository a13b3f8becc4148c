//===- Blocked.h - Blocks of a contraction ----------------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_CONVERSION_KERNELTOLOOPS_BLOCKED_H
#define MPOPT_LIB_CONVERSION_KERNELTOLOOPS_BLOCKED_H

#include "Contraction.h"

#include "mp-opt/Conversion/KernelToLoops.h"

namespace mp::kernel {

/// Whether emitBlocked would pack all of `operand` ahead of its tasks, or could
/// do so.
bool packsAhead(ContractOp op, unsigned operand, const KernelTarget &target);

/// Emits the loops of `op`, where `e` stands, through packed panels.
void emitBlocked(Emitter &e, ContractOp op, const KernelTarget &target);

} // namespace mp::kernel

#endif // MPOPT_LIB_CONVERSION_KERNELTOLOOPS_BLOCKED_H
