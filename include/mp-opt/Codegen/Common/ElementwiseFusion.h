//===- ElementwiseFusion.h - Chains of elementwise ops ----------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_CODEGEN_COMMON_ELEMENTWISEFUSION_H
#define MPOPT_CODEGEN_COMMON_ELEMENTWISEFUSION_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mp {

/// Makes elementwise ops on tensors a part of their only reader, unless an
/// expensive vector would be computed for each element that it is spread to.
/// Reshapes between them move through the ops before them.
void fuseElementwise(mlir::func::FuncOp function);

/// Gives each reader of an elementwise op on tensors its own copy of the op, to
/// be fused with it, if that moves fewer bytes, keeps no more memory and costs
/// little arithmetic. Ops with a single reader must be fused before. With
/// `linesOnly`, only ops with an operand that has one element for each line of
/// the result, such as the mean of a row or of a channel, are copied.
void recomputeElementwise(mlir::func::FuncOp function, bool linesOnly = false);

} // namespace mp

#endif // MPOPT_CODEGEN_COMMON_ELEMENTWISEFUSION_H
