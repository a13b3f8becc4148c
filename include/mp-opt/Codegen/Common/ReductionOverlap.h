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

/// Moves each `runtime.collective_wait` down to the first op that touches its
/// memory: the computation in between overlaps with communication. The starts
/// of a bucket that are of one kind, and their waits, are joined: one
/// collective starts where the last member is ready, and is awaited where the
/// first is needed. Members with rows are on their own. With `together`, for
/// devices, no member has rows, and waits for collectives that have started
/// follow the first one. Runs before memory is freed and planned.
void delayWaits(mlir::func::FuncOp function, bool together);

} // namespace mp

#endif // MPOPT_CODEGEN_COMMON_REDUCTIONOVERLAP_H
