//===- ContractShape.h - Contractions as products of matrices ---*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Describes a contraction on memrefs by its types and maps, without any code.
// Its dimensions fall into groups (ContractGroups.h), where the right-hand side
// is the operand that has the last axis of the result: a or b. Strategies are
// chosen by this description, and code follows it.
//
// Contractions that differ in sizes share code: few sizes are part of it.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_DIALECT_KERNEL_CONTRACTSHAPE_H
#define MPOPT_DIALECT_KERNEL_CONTRACTSHAPE_H

#include "mp-opt/Dialect/Kernel/ContractGroups.h"
#include "mp-opt/Dialect/Kernel/Kernel.h"

namespace mp::kernel {

/// The lanes of a vector: shared code knows sizes below this.
constexpr int64_t minLong = 16;
/// The largest M for which packing the right-hand side takes longer than it
/// saves.
constexpr int64_t maxFew = 32;
/// The largest K of contractions whose stores take as long as their products.
constexpr int64_t maxShallow = 160;

/// A contraction as it is seen by code that is shared by all that differ only
/// in sizes: without dimensions of size one, on memrefs of dynamic sizes.
struct SharedContract {
  /// The op's dimensions that are kept.
  llvm::SmallVector<unsigned> dims;
  /// One entry for a, b, each extra operand and c.
  llvm::SmallVector<mlir::AffineMap> maps;
  llvm::SmallVector<mlir::MemRefType> types;
  /// One entry per result of each map: true if it is known to be within bounds.
  llvm::SmallVector<llvm::SmallVector<bool>> inBounds;
  /// For each dimension its size if that is known to be less than `minLong`,
  /// else a lower bound: `minLong`, more than `maxFew`, or zero.
  llvm::SmallVector<int64_t> minSizes;
  /// True if K is known to be at most `maxShallow`.
  bool isShallow = false;

  /// Describes any contraction on memrefs.
  static SharedContract get(ContractOp op);
  /// Stores the fields that types do not tell in attributes of a contraction in
  /// a function of its own, where `get` finds them.
  void annotate(ContractOp outlined) const;
};

/// The sizes of all dimensions of `op`, kDynamic if unknown.
llvm::SmallVector<int64_t> getStaticSizes(ContractOp op);

/// True if an index of an operand's dimension of this size, for dimensions of
/// `sizes`, is known never to leave it.
bool isInBounds(const LinearForm &form, llvm::ArrayRef<int64_t> sizes,
                int64_t operandSize);

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
  /// The type to which elements are rounded when they are read, or null.
  mlir::Type rounding;
  /// True if offsets depend on a dimension, and the distance of its neighbours
  /// if it is known to be 1 or 2 elements, else 0; one entry per dimension.
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
  /// The types in which elements of a and b are multiplied.
  mlir::Type factors[2];
  llvm::SmallVector<OperandShape> operands;
  /// The dimensions of each group. Dimensions that are contiguous in memory
  /// wherever they occur have been joined to one.
  llvm::SmallVector<llvm::SmallVector<unsigned>> groups[4];

  const OperandShape &getLHS() const { return operands[lhs]; }
  const OperandShape &getRHS() const { return operands[rhs]; }
  bool isSingle(GroupKind kind) const { return groups[kind].size() == 1; }
  bool isBatched() const { return !groups[Batch].empty(); }
  llvm::ArrayRef<int64_t> getMinSizes() const { return contract.minSizes; }
  /// True if joined dimensions are known to be shorter than a vector.
  bool isShort(llvm::ArrayRef<unsigned> dims) const;
  /// The size of a group, if all its dimensions are known to be short.
  std::optional<int64_t> getShortSize(GroupKind kind) const;
  /// A lower bound of the last, joined dimension of a group.
  int64_t getMinLength(GroupKind kind) const;
  /// The distance of neighbours along the last dimension of a group: 1, 2, or 0
  /// if it is unknown.
  int64_t getStep(GroupKind kind, unsigned operand) const;
  /// True if offsets of an operand depend on a group.
  bool moves(GroupKind kind, const OperandShape &operand) const;
  /// True if M is known to be at most `maxFew`.
  bool hasFewRows() const;

private:
  int64_t getMinSize(llvm::ArrayRef<unsigned> dims) const;
  bool follows(unsigned first, unsigned second) const;
  void findGroups();
  void separateColumns();
};

/// The most runs of so many lanes if lines have at least this length.
inline int64_t getMaxRuns(int64_t lanes, int64_t length) {
  return (lanes - 2) / length + 2;
}

/// The sizes that decide which parts of operand a (0) or b (1) are packed,
/// zeros for others; absent if some are known only in a call.
std::optional<llvm::SmallVector<int64_t>> getPackedSizes(ContractOp op,
                                                         unsigned operand);

/// The type of an operand as one line of memory.
mlir::MemRefType getLineType(const OperandShape &operand);

} // namespace mp::kernel

#endif // MPOPT_DIALECT_KERNEL_CONTRACTSHAPE_H
