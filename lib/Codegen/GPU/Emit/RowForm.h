//===- RowForm.h - The ops of a row as a graph ------------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The body of a loop over rows is a graph of values: scalars of the row, and
// points, which have an element for each point of the row. Each op computes
// points from points and scalars, scalars from scalars, or reduces points to
// scalars. If lanes have the same points of all values, no value that is used
// only inside needs memory.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_CODEGEN_GPU_EMIT_ROWFORM_H
#define MPOPT_LIB_CODEGEN_GPU_EMIT_ROWFORM_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace mp {

/// Memory that a row reads or writes.
struct RowMemory {
  mlir::Value memref;
  bool isPoints = false;
  /// True if it is allocated in the row, and need not exist.
  bool isLocal = false;
  /// The dimension of the points along each axis, or -1: its index is zero.
  llvm::SmallVector<int> axes;
  /// The value that it holds at first, which is read from it, and at the end;
  /// -1: none is read, or written.
  int first = -1, last = -1;
  /// The value while ops are read.
  int current = -1;

  /// True if the row reads or writes it.
  bool isUsed() const { return !isLocal && (first >= 0 || last >= 0); }
};

struct RowValue {
  /// The op that computes it; -1: it is what memory holds at first.
  int op = -1;
  unsigned memory = 0;
  bool isPoints = false;
  mlir::Type element;
  /// The first pass in which it is used or computed, and the last in which it
  /// is used.
  int firstPass = INT_MAX, lastPass = -1;
};

enum class RowOpKind { Scalar, Points, Reduction, Columns };

struct RowOp {
  mlir::linalg::GenericOp op;
  RowOpKind kind;
  /// The value of each operand that the body uses; -1: it has none, or is not
  /// memory.
  llvm::SmallVector<int> operands;
  llvm::SmallVector<int> results;
  /// The memory of sums of columns: their results.
  llvm::SmallVector<unsigned> columns;
  /// The ops that combine the partial results of a reduction, or of columns.
  llvm::SmallVector<mlir::Operation *> combiners;
  /// The loop of each dimension of the points, -1 for loops of one iteration.
  llvm::SmallVector<int> dims;
  /// The pass over the row in which it is computed, with all that it needs.
  int pass = 0;
};

/// The loop over the rows of one iteration of `forall`, if an iteration has
/// several rows, whose columns are summed up; null if it has one.
mlir::scf::ForOp findRowLoop(mlir::scf::ForallOp forall);

class RowForm {
public:
  /// Absent if the body has other ops, or accesses memory in another way.
  static std::optional<RowForm> get(mlir::scf::ForallOp forall);

  llvm::ArrayRef<RowMemory> getMemories() const { return memories; }
  llvm::ArrayRef<RowValue> getValues() const { return values; }
  llvm::ArrayRef<RowOp> getOps() const { return ops; }
  /// The points of a row, and the extents of its dimensions.
  int64_t getLength() const { return length; }
  llvm::ArrayRef<int64_t> getExtents() const { return extents; }
  /// Each pass but the last ends with reductions. The last one stores.
  int countPasses() const { return numPasses; }
  /// The most point values that one pass leaves to later ones, or one row to
  /// the next.
  int64_t countKept() const;
  bool hasColumns() const { return numColumns > 0; }
  /// The neighbouring points that a lane has: accesses of the narrowest
  /// elements are of 16 bytes, if rows are aligned and long enough.
  int64_t getWidth() const;

private:
  bool read(mlir::Block &body);
  bool readOp(mlir::linalg::GenericOp op);
  bool readResults(RowOp &row);
  bool readDims(mlir::linalg::GenericOp op, RowOp &row);
  int readOperand(mlir::OpOperand &operand, RowOp &row);
  int findMemory(mlir::OpOperand &operand, RowOp &row);
  int getCurrent(unsigned memory);
  bool findAxes(mlir::OpOperand &operand, RowOp &row, RowMemory &memory);
  bool areDistinct(mlir::scf::ForallOp forall);
  void choosePasses();
  void use(int value, int pass);

  std::vector<RowMemory> memories;
  llvm::DenseMap<mlir::Value, unsigned> numberOf;
  llvm::SmallVector<RowValue> values;
  std::vector<RowOp> ops;
  llvm::SmallVector<int64_t> extents;
  int64_t length = 0, numColumns = 0;
  int numPasses = 0;
};

/// The threads of rows.
struct RowThreads {
  /// Threads that have a row together: some of a warp's, or whole warps.
  int64_t perRow;
  int64_t perBlock, blocks;

  /// `rows` are the iterations of the loop over rows, or blocks of rows.
  static RowThreads choose(const RowForm &form, int64_t rows,
                           int64_t manyBlocks);
  int64_t getRowsPerBlock() const { return perBlock / perRow; }
  /// True if values stay in registers from one pass to the next; else each pass
  /// reads the row again.
  static bool keepsValues(const RowForm &form, int64_t perRow);
  /// True if threads have registers for the sums of so many more columns.
  static bool fitsColumns(const RowForm &form, int64_t columns);
};

} // namespace mp

#endif // MPOPT_LIB_CODEGEN_GPU_EMIT_ROWFORM_H
