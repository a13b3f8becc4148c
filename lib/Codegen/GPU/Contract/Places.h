//===- Places.h - Where elements of operands lie ----------------*- C++ -*-===//
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

/// What a flat index of a group adds to the place of an element, and to the
/// coordinates that may be out of bounds.
struct Place {
  mlir::Value offset;
  /// For each of the operand's bounds; null for zero.
  llvm::SmallVector<mlir::Value> coordinates;
  /// Whether the index is one of the group's; null if it is known to be.
  mlir::Value exists;
};

/// The block's tile: of which batch, and where it begins.
struct BlockPlace {
  mlir::Value batch, m, n;
};

/// An operand as one line of memory.
class OperandPlaces {
public:
  OperandPlaces(TileBuilder &e, const Problem &problem, unsigned operand,
                mlir::Value memory);

  unsigned getNumber() const { return number; }
  mlir::Value getMemory() const { return line; }
  mlir::Type getElement() const;
  /// What `flat`, at a multiple of `step`, adds; `exists` says whether `flat`
  /// is less than the group's size, unless that is a multiple of `step`.
  Place at(TileBuilder &e, GroupKind kind, mlir::Value flat,
           int64_t step) const;
  /// With an origin.
  Place atBatch(TileBuilder &e, mlir::Value batch) const;
  /// The sum of both.
  Place add(TileBuilder &e, const Place &a, const Place &b) const;
  /// Whether the sum of all groups' places is one of the operand; null if it
  /// is known to be.
  mlir::Value isValid(TileBuilder &e, const Place &place) const;

private:
  const Problem &problem;
  unsigned number;
  mlir::Value line;
  llvm::SmallVector<Coordinate> bounds;
};

} // namespace mp::kernel::tiling

#endif // MPOPT_LIB_CODEGEN_GPU_CONTRACT_PLACES_H
