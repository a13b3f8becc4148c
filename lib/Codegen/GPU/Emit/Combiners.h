//===- Combiners.h - Partial results of reductions ---------------*- C++
//-*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_CODEGEN_GPU_EMIT_COMBINERS_H
#define MPOPT_LIB_CODEGEN_GPU_EMIT_COMBINERS_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace mp {

/// Applies `op`, of two operands, to others, which may be vectors.
mlir::Value combine(mlir::OpBuilder &b, mlir::Operation *op, mlir::Value x,
                    mlir::Value y);

/// Combines the lanes of a vector, neighbours first; returns scalars.
mlir::Value combineVector(mlir::OpBuilder &b, mlir::Operation *op,
                          mlir::Value vector);

/// The op that combines partial results of each output of a reduction; empty if
/// they cannot be combined.
llvm::SmallVector<mlir::Operation *> findCombiners(mlir::linalg::GenericOp op);

} // namespace mp

#endif // MPOPT_LIB_CODEGEN_GPU_EMIT_COMBINERS_H
