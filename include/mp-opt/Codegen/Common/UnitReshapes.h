//===- UnitReshapes.h - Reshapes that add or drop ones ----------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_CODEGEN_COMMON_UNITRESHAPES_H
#define MPOPT_CODEGEN_COMMON_UNITRESHAPES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mp {

/// Where linalg ops on tensors read reshapes that only add or drop axes of size
/// one, they read what is reshaped. Fusion of reshapes would give all their
/// other operands these axes instead, and everything behind them.
void foldUnitReshapes(mlir::func::FuncOp function);

} // namespace mp

#endif // MPOPT_CODEGEN_COMMON_UNITRESHAPES_H
