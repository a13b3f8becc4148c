//===- Problem.h - A contraction as products of matrices --------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Describes a contraction whose sizes are known by its sizes, strides and maps,
// without any code. Each group of its dimensions (ContractGroups.h) is counted
// by one flat index. The offset of an operand's element is a sum of one offset
// for each group, and so are the coordinates that may be out of bounds.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_CODEGEN_GPU_CONTRACT_PROBLEM_H
#define MPOPT_LIB_CODEGEN_GPU_CONTRACT_PROBLEM_H

#include "mp-opt/Dialect/Kernel/ContractShape.h"

namespace mp::kernel::tiling {

/// A dimension, or several that follow each other in memory.
struct Axis {
  int64_t size;
  /// The distance of neighbours in elements, one entry per operand.
  llvm::SmallVector<int64_t> steps;
  /// The factor of this axis, one entry per bound.
  llvm::SmallVector<int64_t> factors;
};

/// A coordinate of operand a or b: `constant` plus the contributions of axes.
/// Elements outside of 0 to `size` - 1 are read as zero.
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
  /// The type as which elements of a (0) or b (1) are multiplied.
  mlir::Type getFactor(unsigned operand) const;
  mlir::FloatType getAccumulator() const;
  /// The axes that matter to an operand, outermost first.
  llvm::SmallVector<View> getViews(GroupKind kind, unsigned operand) const;
  /// True if offsets or coordinates of an operand depend on a group.
  bool dependsOn(unsigned operand, GroupKind kind) const;
  /// The number of neighbours along a group, from a multiple of that number,
  /// that are at most 16 bytes of aligned and contiguous memory in bounds, or
  /// are all out of bounds. It is a power of two; 1 if nothing is known.
  int64_t getWidth(GroupKind kind, unsigned operand) const;
  /// As `getWidth`, but the last of the group's neighbours may be fewer than
  /// the result: lines begin at multiples of it and may have any length.
  int64_t getRaggedWidth(GroupKind kind, unsigned operand) const;
  /// The distance of neighbours along a group; 0 if all are at one place.
  int64_t getLastStep(GroupKind kind, unsigned operand) const;

private:
  void addOperands();
  void addGroups();
  void orderSum(llvm::SmallVectorImpl<unsigned> &dims) const;
  Axis getAxis(unsigned dim) const;
  int64_t getWidth(GroupKind kind, unsigned operand, int64_t length) const;

  llvm::SmallVector<int64_t> dimSizes;
  /// Indexed by operand and dimension, and by bound and dimension.
  llvm::SmallVector<llvm::SmallVector<int64_t>> steps, factors;
};

/// Strides and offset of memory; absent if they are not known. Memory without
/// elements has zeros, since MLIR defines none.
struct Layout {
  llvm::SmallVector<int64_t> strides;
  int64_t offset = 0;
};
std::optional<Layout> getLayout(mlir::MemRefType type);

/// True if sizes, strides and offsets are known, which a Problem requires.
bool isKnown(ContractOp op);

} // namespace mp::kernel::tiling

#endif // MPOPT_LIB_CODEGEN_GPU_CONTRACT_PROBLEM_H
