//===- RowCode.h - Rows in the registers of warps ---------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_CODEGEN_GPU_EMIT_ROWCODE_H
#define MPOPT_LIB_CODEGEN_GPU_EMIT_ROWCODE_H

#include "../GroupForms.h"
#include "RowForm.h"
#include "ThreadLoops.h"

#include "llvm/ADT/BitVector.h"

namespace mp {

/// The threads of one row.
struct RowTeam {
  /// The number of the thread among them.
  mlir::Value thread;
  int64_t count;
  /// True for threads whose results are stored; null if all are.
  mlir::Value isStored;
};

/// Emits the ops of a row for the threads that have it together. Each thread
/// loads, computes and stores the same points of all values; reductions are
/// combined by shuffles, and by shared memory if several warps have a row. The
/// order of sums depends on sizes and types alone.
class RowCode {
public:
  /// Code is inserted where `b` is.
  RowCode(mlir::RewriterBase &b, mlir::Location loc, const RowForm &form,
          SharedMemory &shared, const RowTeam &team);

  /// With `keeps`, values stay in registers from one pass to the next; without,
  /// each pass reads the row again.
  void emit(bool keeps);

private:
  /// Neighbouring points of one thread, all of the same form.
  struct Chunk {
    mlir::Value first;
    int64_t width;
    /// False for points after the end of the row, which are copies of others;
    /// null if there are none.
    mlir::Value isInside;
    /// Values of points are stored by this number.
    unsigned slot;
  };
  using Values = llvm::SmallVector<mlir::Value>;
  /// The sums of each reduction of a pass, one for each of its results.
  using Sums = llvm::SmallVector<Values>;

  void makeChunks(bool keeps);
  Chunk makeChunk(mlir::Value begin, bool isFull, unsigned slot);
  void emitPass(int pass, bool keeps);
  void emitScalars(int pass);
  void emitLoop(int pass, const llvm::BitVector &needed, Sums &sums);
  llvm::BitVector findNeeded(int pass, bool keeps) const;
  llvm::SmallVector<unsigned> findReductions(int pass) const;
  Values emitBody(const RowOp &row, const Chunk &chunk,
                  llvm::ArrayRef<mlir::Value> sums);
  void computePoints(const llvm::BitVector &needed, llvm::ArrayRef<Chunk> list);
  mlir::Value getPoints(int value, const Chunk &chunk);
  void addToSums(int pass, llvm::ArrayRef<Chunk> list, Sums &sums);
  void combineLanes(int pass, Sums &sums);
  void finishReductions(int pass, Sums &sums);
  void storePoints(const Chunk &chunk);
  void storeScalars();
  Values getIndices(const RowMemory &memory, mlir::Value point);
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
  /// Iterations over vectors that all threads have; the chunks after them, and
  /// the points that fill no vector.
  int64_t iterations = 0;
  llvm::SmallVector<Chunk> chunks, rest;
  /// Values by their numbers; points have an entry for each slot.
  Values scalars;
  llvm::SmallVector<Values> points;
};

/// Replaces a loop over rows by its body for the row with this number, at the
/// place where `b` inserts.
void inlineRow(mlir::RewriterBase &b, mlir::scf::ForallOp forall,
               const RowRange &rows, mlir::Value number);

/// Replaces a loop over rows by code of the threads of a block, `perRow` of
/// which have a row together. Fails if the body has not the form of a row.
mlir::LogicalResult emitRowTeams(mlir::RewriterBase &b,
                                 mlir::scf::ForallOp forall,
                                 const RowRange &rows, SharedMemory &shared,
                                 const Threads &threads, mlir::Value block,
                                 int64_t perRow);

} // namespace mp

#endif // MPOPT_LIB_CODEGEN_GPU_EMIT_ROWCODE_H
