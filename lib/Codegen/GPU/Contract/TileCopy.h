//===- TileCopy.h - Tiles of operands in shared memory ----------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_CODEGEN_GPU_CONTRACT_TILECOPY_H
#define MPOPT_LIB_CODEGEN_GPU_CONTRACT_TILECOPY_H

#include "Places.h"
#include "TilePlan.h"

namespace mp::kernel::tiling {

/// Copies tiles of a (0) or b (1) as a plan says; what is out of bounds is
/// zero. Places that are the same in all steps are computed once.
class TileCopy {
public:
  TileCopy(TileBuilder &e, const Problem &problem, const TilePlan &plan,
           const CopyPlan &copy, const OperandPlaces &places,
           mlir::Value shared, mlir::Value thread, const BlockPlace &block);

  /// Begins to copy the tile at `k` into a stage.
  void start(TileBuilder &e, mlir::Value k, mlir::Value stage) const;
  /// The elements of this thread's chunks of the tile at `k`, and these put
  /// into a stage.
  llvm::SmallVector<mlir::Value> read(TileBuilder &e, mlir::Value k) const;
  void write(TileBuilder &e, mlir::ValueRange elements,
             mlir::Value stage) const;
  /// What `read` returns.
  llvm::SmallVector<mlir::Type> getReadTypes(TileBuilder &e) const;

private:
  struct Access {
    mlir::Value offset, valid;
  };
  int64_t getAccesses() const { return copy.chunk / copy.width; }
  bool isEven() const { return numThreads % chunksPerLine == 0; }
  int64_t getRepeats() const { return chunksPerLine / numThreads; }
  /// Of the thread's chunks, those that have different positions in a line, and
  /// different lines.
  int64_t getPosition(int64_t i) const {
    return isEven() ? 0 : i % getRepeats();
  }
  int64_t getLine(int64_t i) const { return isEven() ? i : i / getRepeats(); }
  mlir::Value getLineIndex(TileBuilder &e, int64_t line) const;
  mlir::Value getPositionIndex(TileBuilder &e, int64_t position) const;
  /// Of all chunks, in turn, for each access.
  llvm::SmallVector<Access> getAccesses(TileBuilder &e, mlir::Value k) const;
  /// Of a chunk's element in its stage.
  mlir::Value getTarget(TileBuilder &e, int64_t i, int64_t element,
                        mlir::Value stage) const;

  const Problem &problem;
  const CopyPlan &copy;
  const OperandPlaces &places;
  mlir::Value shared, thread;
  int64_t numThreads, tileK, chunksPerLine, count;
  /// Whether the thread has a chunk; null for yes.
  mlir::Value takesPart;
  /// Places along M or N, of each line, or of each position and access.
  llvm::SmallVector<Place> fixed;
  /// Of each chunk's first element in a stage.
  llvm::SmallVector<mlir::Value> targets;
};

/// Where a chunk of 16 bytes is in a line of so many: chunks of neighbouring
/// lines at the same position are in different banks, `swizzle` chunks apart.
mlir::Value getSwizzled(TileBuilder &e, mlir::Value line, mlir::Value position,
                        int64_t chunksPerLine, int64_t swizzle);

} // namespace mp::kernel::tiling

#endif // MPOPT_LIB_CODEGEN_GPU_CONTRACT_TILECOPY_H
