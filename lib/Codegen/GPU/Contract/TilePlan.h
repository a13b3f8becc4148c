//===- TilePlan.h - The plan of a contraction's kernel ----------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A plan follows from a problem and its tile, without any code: blocks,
// threads, and the way of each operand to shared memory.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_CODEGEN_GPU_CONTRACT_TILEPLAN_H
#define MPOPT_LIB_CODEGEN_GPU_CONTRACT_TILEPLAN_H

#include "Problem.h"

namespace mp::kernel::tiling {

/// The copy of a (0) or b (1) to shared memory. A tile consists of lines of
/// chunks: neighbours in a chunk, and chunks of a line, are neighbours along K
/// or along M or N; threads take chunks in turn.
struct CopyPlan {
  unsigned operand;
  /// M for the left-hand side, N for the right-hand side.
  GroupKind kind;
  /// True if chunks and lines extend along K.
  bool alongK;
  /// Elements that are read at a time, and elements of a chunk.
  int64_t width, chunk;
  /// True if the last chunk of a line may have fewer elements than `width`: the
  /// rest of it is zeros.
  bool isRagged = false;
  /// True if cp.async copies it while the block computes; otherwise it goes
  /// through registers.
  bool isAsync;
  /// Elements of a line of the tile, and the number of lines.
  int64_t line, lines;
  /// Shared memory holds `rows` of `pitch` elements of `element`; of K for each
  /// row where `linesOfK`, else of M or N.
  bool linesOfK;
  /// For tensor cores: the number of chunks by which the lines of a group that
  /// is read at once are swizzled against each other.
  int64_t swizzle = 1;
  int64_t pitch, rows;
  mlir::Type element;

  /// For tensor cores: true if ldmatrix cannot read the layout, since it
  /// transposes only 16-bit elements.
  bool needsElements() const { return chunk == 4 && !linesOfK; }
  int64_t getChunks() const { return line / chunk * lines; }
  /// Elements of shared memory of a stage.
  int64_t getStageSize() const { return pitch * rows; }
};

/// The way results get to memory: from registers, a few neighbours a thread, as
/// products leave them; or through shared memory, from which threads take runs
/// of up to 16 bytes in a loop.
struct StorePlan {
  bool isStaged = false;
  /// Elements that a thread takes at a time, and of a row in shared memory.
  int64_t width = 1, pitch = 0;
  /// Rows whose operands a thread reads before it computes the first.
  int64_t together = 1;
  /// True if the last run of a row may have fewer elements than `width`: tiles
  /// at the edge store elements.
  bool isRagged = false;
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
  /// Bytes of shared memory before the right-hand side, and of all.
  int64_t rhsBegin, sharedBytes;
};

} // namespace mp::kernel::tiling

#endif // MPOPT_LIB_CODEGEN_GPU_CONTRACT_TILEPLAN_H
