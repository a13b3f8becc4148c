//===- Places.h - Offsets of operands' elements -----------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_CODEGEN_GPU_CONTRACT_PLACES_H
#define MPOPT_LIB_CODEGEN_GPU_CONTRACT_PLACES_H

#include "Problem.h"
#include "TileBuilder.h"

namespace mp::kernel::tiling {

/// The contribution of a flat index of a group to an element's offset, and to
/// the coordinates that may be out of bounds.
struct Place {
  mlir::Value offset;
  /// One entry for each of the operand's bounds; null is zero.
  llvm::SmallVector<mlir::Value> coordinates;
  /// True if the index is less than the group's size; null if that is known.
  mlir::Value exists;
};

/// The batch of the block's tile, and the tile's first row and column.
struct BlockPlace {
  mlir::Value batch, m, n;
};

/// Memory of this type as one line, from its first element on.
mlir::Value makeLine(TileBuilder &e, mlir::MemRefType type, mlir::Value memory);

/// An operand as one line of memory.
class OperandPlaces {
public:
  OperandPlaces(TileBuilder &e, const Problem &problem, unsigned operand,
                mlir::Value memory);

  unsigned getNumber() const { return number; }
  mlir::Value getMemory() const { return line; }
  mlir::Type getElement() const;
  /// The contribution of `flat`, a multiple of `step`. `exists` tells if `flat`
  /// is less than the group's size; it is null if that is a multiple of `step`.
  Place at(TileBuilder &e, GroupKind kind, mlir::Value flat,
           int64_t step) const;
  /// The place of a batch, including the origin.
  Place atBatch(TileBuilder &e, mlir::Value batch) const;
  /// The sum of both.
  Place add(TileBuilder &e, const Place &a, const Place &b) const;
  /// True if the sum of all groups' places is in bounds of the operand; null if
  /// that is known.
  mlir::Value isValid(TileBuilder &e, const Place &place) const;

private:
  const Problem &problem;
  unsigned number;
  mlir::Value line;
  llvm::SmallVector<Coordinate> bounds;
};

} // namespace mp::kernel::tiling

#endif // MPOPT_LIB_CODEGEN_GPU_CONTRACT_PLACES_H
