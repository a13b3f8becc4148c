//===- RowFusion.h - Fusion of row-wise reductions --------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_CODEGEN_COMMON_ROWFUSION_H
#define MPOPT_CODEGEN_COMMON_ROWFUSION_H

#include "mlir/IR/Operation.h"
#include "mlir/Support/LogicalResult.h"

namespace mp {

/// The largest rows that stay in caches while they are read several times, in
/// elements.
struct RowLimits {
  /// The most elements of a row, or of a block of rows, in the first cache.
  int64_t rowElements;
  /// The most elements of a block of the fewest rows: those that share a line
  /// of memory. Zero: rows are computed one by one, as threads of GPUs do.
  int64_t blockElements;
  /// The most elements of a row whose elements are neighbours in memory, if
  /// there are `manyRows` of them, which a GPU reads again from its L2 cache.
  int64_t lineElements = 0;
  int64_t manyRows = 0;
};

/// Makes one `scf.forall` over rows of each elementwise linalg op on tensors in
/// `root` that depends on reductions of rows of sizes within limits, together
/// with these and all that only they share. Rows that are neighbours in memory
/// are computed in blocks. So is one made of each reduction of long rows that
/// depends on another, as a sum of exponentials does on a maximum.
mlir::LogicalResult fuseRows(mlir::Operation *root, const RowLimits &limits);

} // namespace mp

#endif // MPOPT_CODEGEN_COMMON_ROWFUSION_H
