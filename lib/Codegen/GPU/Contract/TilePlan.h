//===- TilePlan.h - What a kernel of a contraction consists of --*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Follows from a problem and its tile, without any code: blocks, threads, and
// how each operand gets to shared memory.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_CODEGEN_GPU_CONTRACT_TILEPLAN_H
#define MPOPT_LIB_CODEGEN_GPU_CONTRACT_TILEPLAN_H

#include "Problem.h"

namespace mp::kernel::tiling {

/// How a (0) or b (1) is copied to shared memory. A tile is lines of chunks:
/// neighbours in a chunk, and chunks of a line, are neighbours along K or along
/// M or N; threads take chunks in turn.
struct CopyPlan {
  unsigned operand;
  /// M for the left-hand side, N for the right-hand side.
  GroupKind kind;
  /// Whether chunks and lines go along K.
  bool alongK;
  /// Elements that are read at a time, and elements of a chunk.
  int64_t width, chunk;
  /// By cp.async, while the block computes, rather than through registers.
  bool isAsync;
  /// Of the tile: elements of a line, and lines.
  int64_t line, lines;
  /// Shared memory holds `rows` of `pitch` elements of `element`; of K for each
  /// row where `linesOfK`, else of M or N.
  bool linesOfK;
  /// Of tensor cores: by how many chunks the lines of a group that are read at
  /// once are swizzled against each other.
  int64_t swizzle = 1;
  int64_t pitch, rows;
  mlir::Type element;

  /// Of tensor cores: whether ldmatrix cannot read what is stored, which turns
  /// round 16 bits alone.
  bool needsElements() const { return chunk == 4 && !linesOfK; }
  int64_t getChunks() const { return line / chunk * lines; }
  /// Elements of shared memory of a stage.
  int64_t getStageSize() const { return pitch * rows; }
};

/// How results get to memory: from registers as products leave them, a few
/// neighbours a thread, or through shared memory, from which threads take runs
/// of up to 16 bytes in a loop.
struct StorePlan {
  bool isStaged = false;
  /// Elements that a thread takes at a time, and of a row in shared memory.
  int64_t width = 1, pitch = 0;
};

struct TilePlan {
  static TilePlan get(const Problem &problem, TileAttr tile);

  TileAttr tile;
  int64_t numThreads;
  /// Tiles of a batch along M and N, and steps along K.
  int64_t tilesM, tilesN, steps;
  int64_t numBlocks;
  CopyPlan lhs, rhs;
  StorePlan store;
  /// Bytes of shared memory in front of the right-hand side, and of all.
  int64_t rhsBegin, sharedBytes;
};

} // namespace mp::kernel::tiling

#endif // MPOPT_LIB_CODEGEN_GPU_CONTRACT_TILEPLAN_H
