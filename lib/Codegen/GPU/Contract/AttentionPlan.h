//===- AttentionPlan.h - Blocks of attention's kernels ----------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A block of threads has rows of the matrix of one batch, and goes through all
// of its columns. Rows are queries for the result and for the gradient of
// queries, and keys for the gradients of keys and values. In each step:
//
//   S = rows' factor * columns' factor        (query and key)
//   D = rows' factor * columns' factor        (gradient and value)
//   W = weight or slope of S and D, element by element
//   sums += W * a factor of the columns
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_CODEGEN_GPU_CONTRACT_ATTENTIONPLAN_H
#define MPOPT_LIB_CODEGEN_GPU_CONTRACT_ATTENTIONPLAN_H

#include "mp-opt/Codegen/Common/CausalMask.h"
#include "mp-opt/Dialect/Kernel/Kernel.h"

namespace mp::kernel::tiling {

/// An operand in memory, by its distances in elements.
struct AttentionOperand {
  mlir::MemRefType type;
  /// One entry for each dimension of the op: batches, m, n, d, e.
  llvm::SmallVector<int64_t> strides;
  int64_t offset = 0;
};

/// The operands and sizes of an AttentionOp or AttentionGradientOp.
struct AttentionShape {
  static AttentionShape get(mlir::Operation *op);

  mlir::Operation *op;
  bool isGradient;
  unsigned numBatches, numExtras;
  /// The sizes of batches, m, n, d, e.
  llvm::SmallVector<int64_t> sizes;
  /// Inputs, then outputs.
  llvm::SmallVector<AttentionOperand> operands;

  unsigned getQueryDim() const { return numBatches; }
  unsigned getKeyDim() const { return numBatches + 1; }
  int64_t countBatches() const;
  int64_t getLongestHead() const {
    return std::max(sizes[numBatches + 2], sizes[numBatches + 3]);
  }
  unsigned getFirstExtra() const { return isGradient ? 7 : 3; }
  unsigned getOutput(unsigned number) const {
    return getFirstExtra() + numExtras + number;
  }
  /// True if offsets may not fit i32.
  bool isWide() const;
};

/// A factor: its operand, and the dimension of its elements.
struct HeadFactor {
  unsigned operand, dim;
  int64_t size;

  /// Elements with the padding of products; they are copied in slices, whose
  /// lines have a power of two of elements.
  int64_t getPadded() const { return llvm::alignTo(size, 16); }
  int64_t getSliceWidth() const;
  int64_t getNumSlices() const { return getPadded() / getSliceWidth(); }
};

/// Sums over columns of a matrix times the second or first factor of columns.
struct PassOutput {
  bool isSlope;
  /// Which of the columns' factors.
  unsigned factor;
  unsigned operand;
  /// The function of the region that sums are finished by.
  unsigned finish;
};

struct AttentionPass {
  bool rowsAreKeys, hasGradient;
  /// Factors of S, then of D.
  HeadFactor rows[2], columns[2];
  llvm::SmallVector<PassOutput, 2> outputs;
  int64_t numBlocks;
};

struct AttentionPlan {
  static AttentionPlan get(const AttentionShape &shape);

  /// Rows and columns of a step.
  int64_t tileRows, tileColumns;
  int64_t numThreads, numBlocks, sharedBytes;
  llvm::SmallVector<AttentionPass, 3> passes;
  /// Absent if all keys have a weight for all queries.
  std::optional<CausalMask> mask;

  static constexpr int64_t numStages = 2;
  /// Rows of a warp.
  static constexpr int64_t warpRows = 16;
  int64_t countRowTiles(int64_t rows) const {
    return llvm::divideCeil(rows, tileRows);
  }
};

} // namespace mp::kernel::tiling

#endif // MPOPT_LIB_CODEGEN_GPU_CONTRACT_ATTENTIONPLAN_H
