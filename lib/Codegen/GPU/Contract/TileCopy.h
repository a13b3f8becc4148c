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

/// Copies tiles of a (0) or b (1) as a plan says; elements out of bounds are
/// zero. Offsets that are the same in all steps are computed once.
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
  /// The types of the values that `read` returns.
  llvm::SmallVector<mlir::Type> getReadTypes(TileBuilder &e) const;

private:
  struct Access {
    mlir::Value offset, valid;
    /// The number of elements that exist; null if it is the copy's width.
    mlir::Value count;
  };
  int64_t getAccesses() const { return copy.chunk / copy.width; }
  /// A thread's chunks have one position in all lines, or each of its lines has
  /// several of them; otherwise each chunk has its own line and position.
  bool isEven() const { return numThreads % chunksPerLine == 0; }
  bool isRepeated() const { return chunksPerLine % numThreads == 0; }
  int64_t getRepeats() const { return chunksPerLine / numThreads; }
  int64_t getNumPositions() const {
    return isEven() ? 1 : isRepeated() ? getRepeats() : count;
  }
  /// Map the thread's chunk `i` to one of its different positions in a line,
  /// and to one of its different lines.
  int64_t getPosition(int64_t i) const { return i % getNumPositions(); }
  int64_t getLine(int64_t i) const {
    return isEven() || !isRepeated() ? i : i / getRepeats();
  }
  /// True if the thread has a chunk `i`; null if all threads have one.
  mlir::Value takesPart(TileBuilder &e, int64_t i) const;
  /// The place of an index along a line.
  Place getInLine(TileBuilder &e, GroupKind kind, mlir::Value index,
                  int64_t step) const;
  mlir::Value getLineIndex(TileBuilder &e, int64_t line) const;
  mlir::Value getPositionIndex(TileBuilder &e, int64_t position) const;
  /// The accesses of all chunks, chunk after chunk.
  llvm::SmallVector<Access> getAccesses(TileBuilder &e, mlir::Value k) const;
  /// The index in shared memory of a chunk's element in its stage.
  mlir::Value getTarget(TileBuilder &e, int64_t i, int64_t element,
                        mlir::Value stage) const;

  const Problem &problem;
  const CopyPlan &copy;
  const OperandPlaces &places;
  mlir::Value shared, thread;
  int64_t numThreads, tileK, chunksPerLine, count;
  /// Places along M or N, of each line, or of each position and access.
  llvm::SmallVector<Place> fixed;
  /// The index of each chunk's first element in a stage.
  llvm::SmallVector<mlir::Value> targets;
};

/// The swizzled position of a chunk of 16 bytes in a line: chunks at the same
/// position of neighbouring lines are in different banks, `swizzle` chunks
/// apart.
mlir::Value getSwizzled(TileBuilder &e, mlir::Value line, mlir::Value position,
                        int64_t chunksPerLine, int64_t swizzle);

} // namespace mp::kernel::tiling

#endif // MPOPT_LIB_CODEGEN_GPU_CONTRACT_TILECOPY_H
