//===- Contraction.h - Operands, dimensions and offsets ---------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A contraction as a product of matrices: its dimensions fall into four
// groups, each of which is counted by one flat index, and where an element of
// an operand lies is a sum of one offset for each group.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_CONVERSION_KERNELTOLOOPS_CONTRACTION_H
#define MPOPT_LIB_CONVERSION_KERNELTOLOOPS_CONTRACTION_H

#include "Emitter.h"

#include "mp-opt/Dialect/Kernel/Kernel.h"

namespace mp::kernel {

/// Attributes of a contraction that has a function of its own: for each
/// result of each map whether it is within bounds, as far as is known; for each
/// dimension its size if that is known to be less than `leastLong`, else what
/// it is known not to be less than: `leastLong`, more than `mostFew`, or zero.
constexpr llvm::StringLiteral inBoundsName = "kernel.in_bounds";
constexpr llvm::StringLiteral leastSizesName = "kernel.least_sizes";
/// Of a contraction whose sums are known to have at most `mostShallow` terms:
/// their stores take as long as their products.
constexpr llvm::StringLiteral shallowName = "kernel.shallow";
constexpr int64_t mostShallow = 160;
/// The lanes of a vector.
constexpr int64_t leastLong = 16;
/// Rows for which packing columns takes longer than it saves.
constexpr int64_t mostFew = 32;

enum GroupKind { Batch, Rows, Columns, Depth };

/// What a flat index of a group adds to a place: a multiple of it, or an entry
/// of a table where the group has several dimensions.
struct IndexFunction {
  mlir::Value factor;
  mlir::Value table;
  /// The factor, if it is known to be 1 or 2, else 0; with a table, that of
  /// the last dimension.
  int64_t step = 0;

  bool isZero() const { return !factor && !table; }
  mlir::Value at(Emitter &e, mlir::Value i) const;
  /// For i to i + lanes - 1, as a vector of `type`. Tables have so much slack
  /// at the end that this may be called for any i of the group.
  mlir::Value vectorAt(Emitter &e, mlir::Value i, int64_t lanes) const;
  mlir::Type type;
};

/// A dimension of an operand that indices may exceed.
struct Bound {
  llvm::SmallVector<int64_t> factors;
  int64_t constant;
  mlir::Value size;
};

/// An operand as one line of memory.
struct View {
  mlir::Value memory;
  mlir::Type element;
  /// What elements are rounded to when they are read, or null.
  mlir::Type rounding;
  /// The place at which all indices are zero.
  mlir::Value origin;
  /// For each dimension of the contraction; null where it does not matter.
  llvm::SmallVector<mlir::Value> strides;
  /// The strides that are known to be 1 or 2; 0 for others.
  llvm::SmallVector<int64_t> steps;
  llvm::SmallVector<Bound> bounds;

  mlir::Value getStride(Emitter &e, unsigned dim) const {
    return strides[dim] ? strides[dim] : e.index(0);
  }
};

/// A group's dimensions: those that follow each other in memory, wherever they
/// occur, have been joined to one.
struct Group {
  llvm::SmallVector<llvm::SmallVector<unsigned>> dims;
  llvm::SmallVector<mlir::Value> sizes;
  mlir::Value total;
  bool isSingle() const { return dims.size() == 1; }
};

/// Room behind the entries of tables.
constexpr int64_t tableSlack = 192;

class Contraction {
public:
  /// Emits what all tasks share. Dimensions of `columns` are those of operand
  /// `lanes`, which is a (0) or b (1).
  Contraction(Emitter &e, ContractOp op);

  ContractOp op;
  /// The operand that is read along the lanes of vectors, and the other: the
  /// numbers of their views.
  unsigned columnsOperand, rowsOperand;
  llvm::SmallVector<View> views;
  Group groups[4];

  /// For each dimension, as leastSizesName says.
  llvm::ArrayRef<int64_t> getLeastSizes() const {
    return op->getAttrOfType<mlir::DenseI64ArrayAttr>(leastSizesName);
  }
  /// Whether joined dimensions are fewer than the lanes of a vector.
  bool isShort(llvm::ArrayRef<unsigned> dims) const;
  /// The size of a group, if all its dimensions are known to be short.
  std::optional<int64_t> getShortSize(GroupKind kind) const;
  /// What the last, joined dimension of a group is not less than.
  int64_t getLeastLength(GroupKind kind) const;
  /// Whether columns are multiplied where they lie: they are one line in
  /// memory, within bounds, and there are few rows.
  bool readsColumnsInPlace() const;
  bool hasFewRows() const;
  bool isShallow() const { return op->hasAttr(shallowName); }
  /// Offsets of `operand` along a group, in elements.
  IndexFunction getOffsets(Emitter &e, GroupKind kind, unsigned operand);
  /// Coordinates (i32) of a bounded dimension along a group.
  IndexFunction getCoordinates(Emitter &e, GroupKind kind, const Bound &bound);
  /// The place of a batch.
  mlir::Value getBatchOffset(Emitter &e, mlir::Value batch, unsigned operand);
  mlir::Value getBatchCoordinate(Emitter &e, mlir::Value batch,
                                 const Bound &bound);
  /// Frees the tables.
  void release(Emitter &e);

private:
  int64_t getLeastSize(llvm::ArrayRef<unsigned> dims) const;
  void findGroups();
  void separateColumns();
  void addView(Emitter &e, unsigned operand);
  bool follows(unsigned first, unsigned second);
  IndexFunction tabulate(Emitter &e, const Group &group,
                         llvm::ArrayRef<mlir::Value> factors, mlir::Type type);
  mlir::Value sumBatch(Emitter &e, mlir::Value batch,
                       llvm::ArrayRef<mlir::Value> factors);

  llvm::SmallVector<mlir::AffineMap> maps;
  llvm::SmallVector<mlir::Value> operands, sizes;
  llvm::SmallVector<mlir::Value> tables;
};

/// What an earlier call has left in the cache entry of `op`: `count`
/// elements; if there is nothing, what `make` allocates and fills.
mlir::Value makeOnce(Emitter &e, ContractOp op, mlir::Value count,
                     mlir::Type element,
                     llvm::function_ref<mlir::Value()> make);

} // namespace mp::kernel

#endif // MPOPT_LIB_CONVERSION_KERNELTOLOOPS_CONTRACTION_H
