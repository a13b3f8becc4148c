//===- ReductionOverlap.h - Computing while ranks reduce --------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_CODEGEN_COMMON_REDUCTIONOVERLAP_H
#define MPOPT_CODEGEN_COMMON_REDUCTIONOVERLAP_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mp {

/// Moves each `runtime.reduce_wait` down to the first op that touches its
/// memory: the computation in between overlaps with communication. Runs before
/// memory is freed and planned.
void delayWaits(mlir::func::FuncOp function);

/// For devices, to be called after that: the members of a bucket are handed
/// over together, where the last one is ready, with all their rows; and waits
/// for reductions that have started follow the first one.
void gatherReductions(mlir::func::FuncOp function);

} // namespace mp

#endif // MPOPT_CODEGEN_COMMON_REDUCTIONOVERLAP_H
