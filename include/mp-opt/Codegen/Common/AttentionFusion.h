//===- AttentionFusion.h - Attention out of its products --------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_CODEGEN_COMMON_ATTENTIONFUSION_H
#define MPOPT_CODEGEN_COMMON_ATTENTIONFUSION_H

#include "mp-opt/Dialect/Kernel/Kernel.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mp {

/// The facts about an attention that could become one op, by which a target
/// decides whether it should.
struct AttentionFacts {
  /// The product of queries and keys.
  kernel::ContractOp product;
  /// The element types of query, key, value, and of the gradient if there is
  /// one.
  llvm::SmallVector<mlir::Type> factors;
  /// The size of the matrices: all batches, queries and keys.
  int64_t batches = 1, queries = 0, keys = 0;
  /// Elements of the longer of the heads of queries and of values.
  int64_t longestHead = 0;
  bool hasGradient = false;
};

/// The reason why matrices should stay in memory; empty if they should not.
using AttentionChoice =
    llvm::function_ref<llvm::StringRef(const AttentionFacts &)>;

/// Finds product, softmax, product and their gradients, of known sizes, and
/// makes `kernel.attention` and `kernel.attention_gradient` of those that
/// `choose` takes. The others stay as they are, and a remark names the node and
/// the reason.
void fuseAttention(mlir::func::FuncOp main, AttentionChoice choose);

} // namespace mp

#endif // MPOPT_CODEGEN_COMMON_ATTENTIONFUSION_H
