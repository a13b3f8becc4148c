//===- ColumnSums.h - Sums of columns of the rows of a block -- -*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_CODEGEN_GPU_EMIT_COLUMNSUMS_H
#define MPOPT_LIB_CODEGEN_GPU_EMIT_COLUMNSUMS_H

#include "RowLanes.h"

namespace mp {

/// The sums of columns that threads have in registers while a block computes
/// its rows: a vector for each sum of a `RowForm` and each chunk, which have
/// numbers in this order.
class ColumnSums : private RowLanes {
public:
  ColumnSums(mlir::RewriterBase &b, mlir::Location loc, const RowForm &form,
             SharedMemory &shared, const RowTeam &team);

  /// The sums that a thread begins with.
  llvm::SmallVector<mlir::Value> start();
  /// Combines the sums of all teams of the block, one after the other, and
  /// stores them.
  void store(llvm::ArrayRef<mlir::Value> columns);

private:
  using Visit = llvm::function_ref<void(const RowOp &row, unsigned result,
                                        const Chunk &chunk, unsigned number)>;
  void forEach(Visit visit);
  Values makeShared();
  void storeOwn(llvm::ArrayRef<mlir::Value> columns,
                llvm::ArrayRef<mlir::Value> memories, bool isFirst,
                bool isLast);
};

} // namespace mp

#endif // MPOPT_LIB_CODEGEN_GPU_EMIT_COLUMNSUMS_H
