//===- GroupForms.h - Patterns in groups ------------------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_CODEGEN_GPU_GROUPFORMS_H
#define MPOPT_LIB_CODEGEN_GPU_GROUPFORMS_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace mp {

/// The most points of an op that does not get a kernel of its own if similar
/// ops are next to it: one block computes all of them.
constexpr int64_t maxBlockPoints = 1024;

/// The only op with a region of a group, if it is a branch without results or
/// other side around one op; null otherwise. Its condition is the same for all
/// threads.
mlir::scf::IfOp findGuard(mlir::Block &body);

/// The scalar that a map stores everywhere in its one output, if it is defined
/// outside of the map; null otherwise.
mlir::Value getFilling(mlir::linalg::GenericOp op);

/// The op of a group that its kind is about, or that of its guard. Fails with a
/// null result if there is none.
mlir::Operation *findWork(mlir::Block &body);

/// The iterations of a loop over rows, with an entry for each dimension.
struct RowRange {
  llvm::SmallVector<int64_t> lowers, steps, counts;
  /// The product of `counts`.
  int64_t count = 1;

  /// Absent if bounds depend on data.
  static std::optional<RowRange> get(mlir::scf::ForallOp forall);
};

} // namespace mp

#endif // MPOPT_LIB_CODEGEN_GPU_GROUPFORMS_H
