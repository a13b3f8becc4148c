//===- GenericCode.h - Structured ops for threads ---------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_CODEGEN_GPU_EMIT_GENERICCODE_H
#define MPOPT_LIB_CODEGEN_GPU_EMIT_GENERICCODE_H

#include "Combiners.h"
#include "LineCode.h"
#include "ThreadLoops.h"

namespace mp {

/// Code of one `linalg.generic` on memrefs of known sizes. It is made in three
/// steps: `analyze`; the caller chooses threads; one of the `emit` functions,
/// which insert the code before the op and keep the op.
class GenericCode : private LineCode {
public:
  GenericCode(mlir::RewriterBase &rewriter, mlir::linalg::GenericOp op)
      : LineCode(rewriter, op) {}

  void analyze();
  /// Analyzes as well, but leaves no views of merged dimensions before the op:
  /// nothing can be emitted.
  void inspect();

  /// Elements of the outputs, and points that are reduced to one of them.
  int64_t countOutputs() const { return product(outer); }
  int64_t countReduced() const { return product(reduced); }
  /// True if neighbours in memory belong to different outputs.
  bool hasColumns() const { return !reduced.empty() && !isReducedInside; }
  /// Elements that a thread of a map, or of a reduction that is shared, takes
  /// at once: 16 bytes, or less.
  int64_t getLanes() const { return lanes; }
  /// The number of blocks of `emitColumns`.
  int64_t countTiles() const;
  /// The number of tasks of a map, each for one thread.
  int64_t countTasks() const;
  /// True if partial results can be combined.
  bool canCombine() const { return !combiners.empty(); }
  /// True if all threads of a block reduce to one output faster than one
  /// thread.
  bool canShare() const { return canCombine() || canSelect(); }
  /// The op that combines partial results of each output; empty if they cannot
  /// be combined.
  llvm::ArrayRef<mlir::Operation *> getCombiners() const { return combiners; }

  /// Output `number` begins with `value`, whatever its memory holds.
  void setStart(unsigned number, mlir::Value value) { starts[number] = value; }

  /// Emits code without reductions.
  void emitMap(const Threads &threads);
  /// Emits a thread for each output, which reduces one point after the other.
  void emitSerial(const Threads &threads);
  /// Emits code of all threads of the block for the output with this number.
  void emitTogether(const Threads &threads, SharedMemory &shared,
                    mlir::Value output);
  /// Emits a block for some neighbouring outputs, number `tile` of these: some
  /// lanes of a warp have all of them, a vector each, and reduce a share of the
  /// points.
  void emitColumns(const Threads &threads, SharedMemory &shared,
                   mlir::Value tile);

private:
  /// True if one of all points is selected, together with its number, as in
  /// ArgMax.
  bool canSelect() const;
  void emitSelection(const Threads &threads, SharedMemory &shared,
                     mlir::Value output);
  int64_t product(llvm::ArrayRef<unsigned> dims) const;
  void setIndices(mlir::Value linear, llvm::ArrayRef<unsigned> dims,
                  int64_t divisor = 1);
  void storeTile(mlir::Value tile, const Threads &threads,
                 llvm::ArrayRef<mlir::Value> memories);
  llvm::SmallVector<mlir::Value> loadOutputs();
  llvm::SmallVector<mlir::Value> getNeutral();
  llvm::SmallVector<mlir::Value> reduce(llvm::ArrayRef<unsigned> dims,
                                        llvm::ArrayRef<mlir::Value> sums);
  llvm::SmallVector<mlir::Value> reduceFrom(mlir::Value first, int64_t step);

  /// The dimensions, the contiguous one last.
  llvm::SmallVector<unsigned> outer, reduced;
  bool isReducedInside = false;
  /// The op that combines partial results, one entry per output.
  llvm::SmallVector<mlir::Operation *> combiners;
  llvm::SmallDenseMap<unsigned, mlir::Value> starts;
};

} // namespace mp

#endif // MPOPT_LIB_CODEGEN_GPU_EMIT_GENERICCODE_H
