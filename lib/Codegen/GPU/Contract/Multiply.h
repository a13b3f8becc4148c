//===- Multiply.h - Products of tiles in shared memory ----------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_CODEGEN_GPU_CONTRACT_MULTIPLY_H
#define MPOPT_LIB_CODEGEN_GPU_CONTRACT_MULTIPLY_H

#include "TileBuilder.h"
#include "TilePlan.h"

namespace mp::kernel::tiling {

/// A thread's part of its block's tile: sums of all its rows by all its
/// columns. Rows are single ones, columns come in runs of neighbours.
class Multiply {
public:
  virtual ~Multiply() = default;
  /// The index in the tile of each of the thread's rows.
  llvm::SmallVector<mlir::Value> rows;
  /// The first column of each run, and the length of runs.
  llvm::SmallVector<mlir::Value> runs;
  int64_t runLength = 1;

  int64_t getNumSums() const { return rows.size() * runs.size() * runLength; }
  /// Adds the products of a stage to sums, whose order `getSum` defines.
  virtual llvm::SmallVector<mlir::Value>
  multiply(TileBuilder &e, mlir::Value stage, mlir::ValueRange sums) const = 0;
  virtual int64_t getSum(int64_t row, int64_t run, int64_t column) const = 0;
  /// Adds the sums of warps that have the same part, by way of `shared`: each
  /// keeps some of its rows, and gets the sums of these.
  virtual llvm::SmallVector<mlir::Value>
  joinSlices(TileBuilder &e, mlir::Value shared, mlir::ValueRange sums) {
    return sums;
  }

  static std::unique_ptr<Multiply> create(TileBuilder &e, const TilePlan &plan,
                                          mlir::Value lhs, mlir::Value rhs,
                                          mlir::Value thread);
};

} // namespace mp::kernel::tiling

#endif // MPOPT_LIB_CODEGEN_GPU_CONTRACT_MULTIPLY_H
