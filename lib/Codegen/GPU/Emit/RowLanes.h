//===- RowLanes.h - The points that threads have of a row ----- -*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_CODEGEN_GPU_EMIT_ROWLANES_H
#define MPOPT_LIB_CODEGEN_GPU_EMIT_ROWLANES_H

#include "RowForm.h"
#include "ThreadLoops.h"

namespace mp {

/// The threads of one row, and the teams of a block.
struct RowTeam {
  /// The number of the thread among those of the row.
  mlir::Value thread;
  int64_t count;
  Threads block;
  /// True for threads whose results are stored; null if all are.
  mlir::Value isStored;

  int64_t countTeams() const { return block.count / count; }
};

/// Neighbouring points of one thread.
struct RowChunk {
  mlir::Value first;
  int64_t width;
  /// False for points after the end of the row, which are copies of others;
  /// null if there are none.
  mlir::Value isInside;
  /// Values of points are stored by this number.
  unsigned slot;
};

/// The base of code for threads that have a row together. A thread has every
/// `count`-th vector of the row, so that neighbouring threads access
/// neighbouring memory. Vectors after the end of the row are copies of the last
/// one: they are loaded and computed without a branch, but neither added to
/// sums nor stored.
class RowLanes {
protected:
  using Chunk = RowChunk;
  using Values = llvm::SmallVector<mlir::Value>;

  RowLanes(mlir::RewriterBase &b, mlir::Location loc, const RowForm &form,
           SharedMemory &shared, const RowTeam &team);

  /// Makes the chunks. Without `keeps`, most of those that all threads have are
  /// those of a loop, whose chunks have the first slots.
  void makeChunks(bool keeps);
  Chunk makeChunk(mlir::Value begin, bool isFull, unsigned slot);
  llvm::SmallVector<Chunk> getChunks() const;
  /// The indices of a point in memory, or of the only element.
  Values getIndices(const RowMemory &memory, mlir::Value point);
  /// Loads the points of a chunk from memory.
  mlir::Value loadLine(const RowMemory &memory, const Chunk &chunk);
  void storeLine(mlir::Value value, const RowMemory &memory,
                 const Chunk &chunk);
  mlir::Value getLane(const Chunk &chunk, int64_t lane);
  /// Emits `body` for threads for which both are true; null is true for all.
  void ifAll(mlir::Value first, mlir::Value second,
             llvm::function_ref<void()> body);
  mlir::Value index(int64_t value) { return makeIndex(b, loc, value); }
  mlir::Value isLess(mlir::Value x, int64_t y);

  mlir::RewriterBase &b;
  mlir::Location loc;
  const RowForm &form;
  SharedMemory &shared;
  RowTeam team;
  /// The points of a vector, and the vectors of a row.
  int64_t width, vectors;
  /// Vectors of a thread in the loop, and in one of its iterations; the chunks
  /// after them, and the points that fill no vector.
  int64_t looped = 0, together = 0;
  llvm::SmallVector<Chunk> chunks, rest;
};

} // namespace mp

#endif // MPOPT_LIB_CODEGEN_GPU_EMIT_ROWLANES_H
