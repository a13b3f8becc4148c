//===- ElementReader.h - Elements beside attention's matrices ---*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_CODEGEN_GPU_CONTRACT_ELEMENTREADER_H
#define MPOPT_LIB_CODEGEN_GPU_CONTRACT_ELEMENTREADER_H

#include "HeadTiles.h"

namespace mp::kernel::tiling {

/// Loads what the regions of attention read for an element of a matrix, and
/// stores results. A thread's elements of a step are numbered as the sums of
/// products of 16 x 8 are: element i has row i / 2 mod 2 of the thread's two
/// rows, and column i mod 2 of a pair of neighbours.
class ElementReader {
public:
  ElementReader(TileBuilder &e, const AttentionShape &shape,
                const AttentionPlan &plan, const AttentionPass &pass,
                mlir::ValueRange memory, const AttentionBlock &block);

  /// Begins the step whose first column this is; `ahead` are its elements that
  /// `readAhead` returned.
  void beginStep(mlir::Value column, mlir::ValueRange ahead = {});
  /// Reads elements that all rows of a column have, of the step that begins
  /// with `column`: a step before it, so that nothing waits for them. Nothing
  /// is read unless the condition, which may be null, holds.
  llvm::SmallVector<mlir::Value> readAhead(mlir::Value column,
                                           mlir::Value condition);
  /// True if an element's column exists; null if that is known.
  mlir::Value getColumnExists(int64_t i) {
    return columns[i / 4].exists[i % 2];
  }
  /// The element of an operand without elements of a head.
  mlir::Value get(unsigned operand, int64_t i);
  /// Returns the result of a function of the op's region for an element.
  /// `floats` are the first arguments of the region; those that the function
  /// does not depend on may be null.
  mlir::Value apply(unsigned function, llvm::ArrayRef<mlir::Value> floats,
                    int64_t i);

  /// Stores the element of a row if the condition holds.
  void storeRow(unsigned operand, int64_t row, mlir::Value condition,
                mlir::Value value);
  /// Stores two neighbouring elements of a head, from `element` on.
  void storePair(unsigned operand, int64_t row, const HeadFactor &head,
                 mlir::Value element, llvm::ArrayRef<mlir::Value> values);

private:
  struct Row {
    mlir::Value index, exists;
  };
  /// A pair of columns.
  struct Columns {
    mlir::Value index[2], exists[2];
  };
  unsigned getRowDim() const;
  unsigned getColumnDim() const;
  bool hasPairs(const AttentionOperand &operand, unsigned dim,
                int64_t size) const;
  mlir::Value getIndex(unsigned dim, int64_t i);
  mlir::Value isAttended(int64_t i);
  void load(unsigned operand, int64_t i);
  /// Calls `function` with each operand and number of an element that
  /// `readAhead` reads.
  void forEachAhead(llvm::function_ref<void(unsigned, int64_t)> function) const;

  TileBuilder &e;
  const AttentionShape &shape;
  llvm::SmallVector<mlir::Value> memory, batchIndices, batchOffsets;
  bool rowsAreKeys;
  std::optional<CausalMask> mask;
  mlir::Value pairColumn;
  /// Rows minus the step's first column of the thread.
  mlir::Value distances[2];
  Row rows[2];
  llvm::SmallVector<Columns> columns;
  /// Operands that are read ahead, and the condition of reads.
  llvm::SmallVector<unsigned> aheadOperands;
  mlir::Value canRead;
  /// Elements by operand and number: those of rows for the whole pass, others
  /// for a step.
  llvm::DenseMap<std::pair<unsigned, int64_t>, mlir::Value> ofRows, ofStep;
};

} // namespace mp::kernel::tiling

#endif // MPOPT_LIB_CODEGEN_GPU_CONTRACT_ELEMENTREADER_H
