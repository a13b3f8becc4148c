//===- Problem.h - A contraction as products of matrices --------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What sizes, strides and maps tell of a contraction whose sizes are known,
// without any code. Its dimensions fall into four groups, batch, M, N and K:
//
//     C[batch][m][n] = sum over k of LHS[batch][m][k] * RHS[batch][k][n]
//
// Each group is counted by one flat index. Where an element of an operand lies
// is a sum of one offset for each group, and so are the coordinates that may be
// out of bounds.
//
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_CODEGEN_GPU_CONTRACT_PROBLEM_H
#define MPOPT_LIB_CODEGEN_GPU_CONTRACT_PROBLEM_H

#include "mp-opt/Dialect/Kernel/ContractShape.h"

namespace mp::kernel::tiling {

/// A dimension, or several that follow each other in memory.
struct Axis {
  int64_t size;
  /// For each operand the distance of neighbours, in elements.
  llvm::SmallVector<int64_t> steps;
  /// For each bound the factor of this axis.
  llvm::SmallVector<int64_t> factors;
};

/// A coordinate of operand a or b that is `constant` plus what axes add, and
/// reads zero outside of 0 to `size` - 1.
struct Coordinate {
  unsigned operand;
  int64_t constant, size;
};

/// An axis as one operand sees it: the flat index of its group, divided by
/// `inner`, modulo `size` unless that is zero.
struct View {
  int64_t inner, size;
  int64_t step;
  llvm::SmallVector<int64_t> factors;
};

/// Operands are numbered as the maps: a, b, the extra operands, c.
struct Problem {
  /// Sizes, strides and offsets are known.
  static Problem get(ContractOp op);

  ContractOp op;
  /// The operands of M and K, and of K and N: 0 is a. The last axis of c is
  /// one of N where an operand has it alone.
  unsigned lhs = 0, rhs = 1;
  llvm::SmallVector<mlir::MemRefType> types;
  /// The places at which all indices are zero.
  llvm::SmallVector<int64_t> origins;
  llvm::SmallVector<Coordinate> bounds;
  llvm::SmallVector<Axis> groups[4];
  int64_t sizes[4] = {1, 1, 1, 1};

  unsigned getOutput() const { return types.size() - 1; }
  /// What the elements of a (0) or b (1) are multiplied as.
  mlir::Type getFactor(unsigned operand) const;
  mlir::FloatType getAccumulator() const;
  /// The axes that matter to an operand, outermost first.
  llvm::SmallVector<View> getViews(GroupKind kind, unsigned operand) const;
  /// Whether places or coordinates of an operand depend on a group.
  bool dependsOn(unsigned operand, GroupKind kind) const;
  /// How many neighbours along a group, at a multiple of that number, are at
  /// most 16 bytes of memory that are in bounds, aligned and contiguous, or are
  /// all out of bounds. A power of two; 1 if nothing is known.
  int64_t getWidth(GroupKind kind, unsigned operand) const;
  /// The distance of neighbours along a group; 0 where all are one place.
  int64_t getLastStep(GroupKind kind, unsigned operand) const;

private:
  void addOperands();
  void addGroups();
  void orderDims(llvm::SmallVectorImpl<unsigned> &dims, GroupKind kind) const;
  Axis getAxis(unsigned dim) const;

  llvm::SmallVector<int64_t> dimSizes;
  /// By operand and dimension, and by bound and dimension.
  llvm::SmallVector<llvm::SmallVector<int64_t>> steps, factors;
};

/// Strides and offset of memory; none where they are not known. Memory without
/// elements has zeros, for MLIR tells none.
struct Layout {
  llvm::SmallVector<int64_t> strides;
  int64_t offset = 0;
};
std::optional<Layout> getLayout(mlir::MemRefType type);

/// Whether sizes, strides and offsets are known: what a Problem asks for.
bool isKnown(ContractOp op);

} // namespace mp::kernel::tiling

#endif // MPOPT_LIB_CODEGEN_GPU_CONTRACT_PROBLEM_H
