//===- UpdateOrder.h - When states are written ------------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_CODEGEN_COMMON_UPDATEORDER_H
#define MPOPT_CODEGEN_COMMON_UPDATEORDER_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mp {

/// Moves ops that only update states of `function` forward, to the first point
/// where their operands exist and no later op reads the old state: operands
/// that they read last are free from there on. `contractionsOnly` leaves ops
/// where they are that are not contractions, or whose results are not states
/// themselves.
void advanceUpdates(mlir::func::FuncOp function, bool contractionsOnly);

} // namespace mp

#endif // MPOPT_CODEGEN_COMMON_UPDATEORDER_H
