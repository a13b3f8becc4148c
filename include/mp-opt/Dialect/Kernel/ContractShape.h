//===- ContractShape.h - Contractions as products of matrices ---*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What types and maps tell of a contraction on memrefs, without any code: its
// dimensions fall into four groups, batch, M, N and K, as in
//
//     C[batch][m][n] = sum over k of LHS[batch][m][k] * RHS[batch][k][n],
//
// where the right-hand side is the operand that has the last axis of the
// result: a or b. Strategies are chosen by it, and code follows it.
//
// Contractions that differ in sizes share code, so little is told of these.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_DIALECT_KERNEL_CONTRACTSHAPE_H
#define MPOPT_DIALECT_KERNEL_CONTRACTSHAPE_H

#include "mp-opt/Dialect/Kernel/Kernel.h"

namespace mp::kernel {

/// The lanes of a vector: sizes below are known to shared code.
constexpr int64_t minLong = 16;
/// M for which packing the right-hand side takes longer than it saves.
constexpr int64_t maxFew = 32;
/// K of contractions whose stores take as long as their products.
constexpr int64_t maxShallow = 160;

/// A contraction as code sees it that all share which differ in sizes only:
/// without dimensions of size one, on memrefs of dynamic sizes.
struct SharedContract {
  /// The op's dimensions that are left.
  llvm::SmallVector<unsigned> dims;
  /// Of a, b, the extra operands and c.
  llvm::SmallVector<mlir::AffineMap> maps;
  llvm::SmallVector<mlir::MemRefType> types;
  /// For each result of each map whether it is known to be within bounds.
  llvm::SmallVector<llvm::SmallVector<bool>> inBounds;
  /// For each dimension its size if that is known to be less than `minLong`,
  /// else what it is known not to be less than: `minLong`, more than
  /// `maxFew`, or zero.
  llvm::SmallVector<int64_t> minSizes;
  /// Whether K is known to be at most `maxShallow`.
  bool isShallow = false;

  /// Of any contraction on memrefs.
  static SharedContract get(ContractOp op);
  /// What types do not tell, in attributes of a contraction in a function of
  /// its own: `get` finds it there.
  void annotate(ContractOp outlined) const;
};

/// Sizes of all dimensions of `op`, kDynamic where unknown.
llvm::SmallVector<int64_t> getStaticSizes(ContractOp op);

/// Whether an index of an operand's dimension of this size, for dimensions of
/// `sizes`, is known never to leave it.
bool isInBounds(const LinearForm &form, llvm::ArrayRef<int64_t> sizes,
                int64_t operandSize);

enum GroupKind { Batch, M, N, K };

/// A dimension of an operand that indices may exceed: a linear expression.
struct Bound {
  llvm::SmallVector<int64_t> factors;
  int64_t constant;
  /// The operand's dimension.
  unsigned position;
};

/// An operand as one line of memory.
struct OperandShape {
  mlir::Type element;
  /// What elements are rounded to when they are read, or null.
  mlir::Type rounding;
  /// Whether places depend on a dimension, and the distance of its neighbours
  /// if it is known to be 1 or 2 elements, else 0.
  llvm::SmallVector<bool> moves;
  llvm::SmallVector<int64_t> steps;
  llvm::SmallVector<Bound> bounds;
};

struct ContractShape {
  static ContractShape get(ContractOp op);

  SharedContract contract;
  /// The numbers of the operands that have M and K, and K and N: 0 is a.
  unsigned lhs, rhs;
  mlir::FloatType accumulator;
  /// What is multiplied of a and b.
  mlir::Type factors[2];
  llvm::SmallVector<OperandShape> operands;
  /// The dimensions of each group: those that follow each other in memory,
  /// wherever they occur, have been joined to one.
  llvm::SmallVector<llvm::SmallVector<unsigned>> groups[4];

  const OperandShape &getLHS() const { return operands[lhs]; }
  const OperandShape &getRHS() const { return operands[rhs]; }
  bool isSingle(GroupKind kind) const { return groups[kind].size() == 1; }
  bool isBatched() const { return !groups[Batch].empty(); }
  llvm::ArrayRef<int64_t> getLeastSizes() const { return contract.minSizes; }
  /// Whether joined dimensions are fewer than the lanes of a vector.
  bool isShort(llvm::ArrayRef<unsigned> dims) const;
  /// The size of a group, if all its dimensions are known to be short.
  std::optional<int64_t> getShortSize(GroupKind kind) const;
  /// What the last, joined dimension of a group is not less than.
  int64_t getLeastLength(GroupKind kind) const;
  /// How far the neighbours of the last dimension of a group are apart: 1, 2,
  /// or 0 for unknown.
  int64_t getStep(GroupKind kind, unsigned operand) const;
  /// Whether places of an operand depend on a group.
  bool moves(GroupKind kind, const OperandShape &operand) const;
  /// Whether M is known to be at most `maxFew`.
  bool hasFewRows() const;

private:
  int64_t getLeastSize(llvm::ArrayRef<unsigned> dims) const;
  bool follows(unsigned first, unsigned second) const;
  void findGroups();
  void separateColumns();
};

/// The runs that so many lanes may be of, where lines have at least this
/// length.
inline int64_t getMostRuns(int64_t lanes, int64_t length) {
  return (lanes - 2) / length + 2;
}

/// The sizes that decide what is packed of operand a (0) or b (1), zeros for
/// others; none if some are known only in a call.
std::optional<llvm::SmallVector<int64_t>> getPackedSizes(ContractOp op,
                                                         unsigned operand);

/// Whether each result is along one dimension at most, maybe some of its
/// places: `d`, `2 * d + 1`, a constant.
bool hasSingleDims(mlir::AffineMap map);

/// The axis that `dim` is, if it is one and `map` has it nowhere else.
std::optional<unsigned> findPlainAxis(mlir::AffineMap map, unsigned dim);

/// The type of an operand as one line of memory.
mlir::MemRefType getLineType(const OperandShape &operand);

} // namespace mp::kernel

#endif // MPOPT_DIALECT_KERNEL_CONTRACTSHAPE_H
