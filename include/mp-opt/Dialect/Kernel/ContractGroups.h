//===- ContractGroups.h - Batch, M, N and K of contractions -----*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Divides the loops of a contraction into four groups, batch, M, N and K, as in
//
//     C[batch][m][n] = sum over k of LHS[batch][m][k] * RHS[batch][k][n],
//
// by the operands that they move along.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_DIALECT_KERNEL_CONTRACTGROUPS_H
#define MPOPT_DIALECT_KERNEL_CONTRACTGROUPS_H

#include "mlir/IR/AffineMap.h"

namespace mp::kernel {

enum GroupKind { Batch, M, N, K };

struct ContractGroups {
  /// The operands that have M and K, and K and N: 0 is a, 1 is b.
  unsigned lhs = 0, rhs = 1;
  /// The loops of each group, in the order in which they are given.
  llvm::SmallVector<unsigned> dims[4];

  /// `maps` are those of a, b, any extra operands and c. `order` has the loops
  /// that count, those of c from the outermost to the innermost in memory: the
  /// last one that either a or b has belongs to N.
  static ContractGroups get(llvm::ArrayRef<mlir::AffineMap> maps,
                            llvm::ArrayRef<unsigned> order);
};

} // namespace mp::kernel

#endif // MPOPT_DIALECT_KERNEL_CONTRACTGROUPS_H
