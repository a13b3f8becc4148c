//===- SumSplitting.h - Long sums as sums of parts --------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_CODEGEN_CPU_SUMSPLITTING_H
#define MPOPT_CODEGEN_CPU_SUMSPLITTING_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mp {

/// Makes two ops of each linalg reduction on tensors across many rows whose
/// columns are neighbours in memory: one reduces parts of the rows, which are
/// the outer axes, and one reduces the parts. Each sum then has about the
/// square root of its terms and loses fewer digits, and parts are tasks of
/// threads. Parts depend on sizes alone.
void splitSums(mlir::func::FuncOp function);

} // namespace mp

#endif // MPOPT_CODEGEN_CPU_SUMSPLITTING_H
