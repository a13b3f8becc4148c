//===- Contraction.h - Operands, dimensions and offsets ---------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The values of a ContractShape: each group of dimensions is counted by one
// flat index, and the offset of an operand's element is a sum of one offset for
// each group.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_CODEGEN_CPU_CONTRACT_CONTRACTION_H
#define MPOPT_LIB_CODEGEN_CPU_CONTRACT_CONTRACTION_H

#include "LoopBuilder.h"

#include "mp-opt/Dialect/Kernel/ContractShape.h"

#include <vector>

namespace mp::kernel {

/// The contribution of a flat index of a group to an offset: a multiple of it,
/// or an entry of a table if the group has several dimensions.
struct IndexFunction {
  mlir::Value factor;
  mlir::Value table;
  /// The factor, if it is known to be 1 or 2, else 0; with a table, that of
  /// the last dimension.
  int64_t step = 0;

  bool isZero() const { return !factor && !table; }
  mlir::Value at(LoopBuilder &e, mlir::Value i) const;
  /// The same for i to i + lanes - 1, as a vector of `type`. The slack at the
  /// end of tables allows any i of the group.
  mlir::Value vectorAt(LoopBuilder &e, mlir::Value i, int64_t lanes) const;
  mlir::Type type;
};

/// An operand as one line of memory.
struct View {
  OperandShape shape;
  mlir::Value memory;
  /// The offset at which all indices are zero.
  mlir::Value origin;
  /// One entry per dimension of the contraction; null if the operand does not
  /// depend on it.
  llvm::SmallVector<mlir::Value> strides;
  /// The size (i32) of the operand's dimension, one entry per bound.
  llvm::SmallVector<mlir::Value> boundSizes;

  mlir::Value getStride(LoopBuilder &e, unsigned dim) const {
    return strides[dim] ? strides[dim] : e.index(0);
  }
  /// The offset of indices of the contraction's dimensions; null is zero.
  mlir::Value getOffset(LoopBuilder &e,
                        llvm::ArrayRef<mlir::Value> indices) const;
};

/// The joined dimensions of a group.
struct Group {
  llvm::SmallVector<llvm::SmallVector<unsigned>> dims;
  llvm::SmallVector<mlir::Value> sizes;
  mlir::Value total;
  bool isSingle() const { return dims.size() == 1; }
};

/// Entries after the end of tables, which repeat the last one.
constexpr int64_t tableSlack = 192;

class Contraction {
public:
  /// Emits the values that all tasks share.
  Contraction(LoopBuilder &e, ContractOp op);

  ContractOp op;
  ContractShape shape;
  std::vector<View> views;
  /// Indexed by dimension.
  llvm::SmallVector<mlir::Value> sizes;
  Group groups[4];

  const View &getLHS() const { return views[shape.lhs]; }
  const View &getRHS() const { return views[shape.rhs]; }
  /// Offsets of `operand` along a group, in elements.
  IndexFunction getOffsets(LoopBuilder &e, GroupKind kind, unsigned operand);
  /// Coordinates (i32) of a bounded dimension along a group.
  IndexFunction getCoordinates(LoopBuilder &e, GroupKind kind,
                               const Bound &bound);
  /// The offset of a batch.
  mlir::Value getBatchOffset(LoopBuilder &e, mlir::Value batch,
                             unsigned operand);
  mlir::Value getBatchCoordinate(LoopBuilder &e, mlir::Value batch,
                                 const Bound &bound);
  /// Copies an operand, whose layout is the identity, to its own memory with
  /// all elements that indices reach, zeros around it: it has no bounds then.
  /// Does nothing if it has none.
  void pad(LoopBuilder &e, unsigned operand);
  /// Frees the tables and the copy.
  void release(LoopBuilder &e);

private:
  void addView(LoopBuilder &e, unsigned operand);
  IndexFunction tabulate(LoopBuilder &e, const Group &group,
                         llvm::ArrayRef<mlir::Value> factors, mlir::Type type);
  mlir::Value sumBatch(LoopBuilder &e, mlir::Value batch,
                       llvm::ArrayRef<mlir::Value> factors);

  /// Memory that `release` frees.
  llvm::SmallVector<mlir::Value> tables;
};

/// Returns the `count` elements that an earlier call has left in the cache
/// entry of `op`; if there are none, `make` allocates and fills them.
mlir::Value makeOnce(LoopBuilder &e, ContractOp op, mlir::Value count,
                     mlir::Type element,
                     llvm::function_ref<mlir::Value()> make);

} // namespace mp::kernel

#endif // MPOPT_LIB_CODEGEN_CPU_CONTRACT_CONTRACTION_H
