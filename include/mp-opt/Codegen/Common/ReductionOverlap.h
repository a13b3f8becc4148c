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
/// memory: what is computed in between overlaps with communication. Before
/// memory is freed and has places.
void delayWaits(mlir::func::FuncOp function);

/// For devices, behind that: the members of a bucket are handed over together,
/// where the last one is ready, with all their rows; and waits for what has
/// started follow the first one.
void gatherReductions(mlir::func::FuncOp function);

} // namespace mp

#endif // MPOPT_CODEGEN_COMMON_REDUCTIONOVERLAP_H
