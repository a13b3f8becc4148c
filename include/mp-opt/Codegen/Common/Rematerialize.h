//===- Rematerialize.h - Values that are computed again ---------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_CODEGEN_COMMON_REMATERIALIZE_H
#define MPOPT_CODEGEN_COMMON_REMATERIALIZE_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"

namespace mp {

/// Copies the op of `value`, and all ops that it is computed from, to the
/// builder's place, in the order of computation, unless `mapping` knows them.
/// `findArgument` returns the replacement of a value that is not computed
/// again, and null for others.
void rematerialize(mlir::OpBuilder &b, mlir::IRMapping &mapping,
                   mlir::Value value,
                   llvm::function_ref<mlir::Value(mlir::Value)> findArgument);

} // namespace mp

#endif // MPOPT_CODEGEN_COMMON_REMATERIALIZE_H
