//===- Recompute.h - Values that readers compute themselves -----*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_CODEGEN_COMMON_RECOMPUTE_H
#define MPOPT_CODEGEN_COMMON_RECOMPUTE_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mp {

/// Gives each reader of an elementwise op on tensors an op of its own, to be
/// fused with it, where that moves fewer bytes, keeps no more memory and costs
/// little arithmetic. Ops with a single reader are to be fused before.
void recomputeElementwise(mlir::func::FuncOp function);

} // namespace mp

#endif // MPOPT_CODEGEN_COMMON_RECOMPUTE_H
