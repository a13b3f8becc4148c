//===- UnitReshapes.h - Reshapes that add or drop ones ----------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_CODEGEN_CPU_UNITRESHAPES_H
#define MPOPT_CODEGEN_CPU_UNITRESHAPES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mp {

/// Makes linalg ops on tensors that read reshapes that only add or drop axes of
/// size one read the operands of the reshapes. Fusion of reshapes would add
/// these axes to all their other operands instead, and to all ops after them.
void foldUnitReshapes(mlir::func::FuncOp function);

} // namespace mp

#endif // MPOPT_CODEGEN_CPU_UNITRESHAPES_H
