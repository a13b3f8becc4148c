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

/// Makes linalg ops on tensors that read reshapes that only add or drop axes of
/// size one read the operands of the reshapes. Fusion of reshapes would add
/// these axes to all their other operands instead, and to all ops after them.
/// With `vectorsOnly`, only operands are folded that have a number for each
/// index of one loop, not the innermost one, such as the means of channels.
void foldUnitReshapes(mlir::func::FuncOp function, bool vectorsOnly = false);

} // namespace mp

#endif // MPOPT_CODEGEN_COMMON_UNITRESHAPES_H
