//===- RowCode.h - Rows in the registers of warps ---------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_CODEGEN_GPU_EMIT_ROWCODE_H
#define MPOPT_LIB_CODEGEN_GPU_EMIT_ROWCODE_H

#include "../GroupForms.h"
#include "RowLanes.h"

#include "llvm/ADT/BitVector.h"

namespace mp {

/// Emits the ops of a row for the threads that have it together. Each thread
/// loads, computes and stores the same points of all values; reductions are
/// combined by shuffles, and by shared memory if several warps have a row. The
/// order of sums depends on sizes and types alone.
class RowCode : private RowLanes {
public:
  /// Code is inserted where `b` is.
  RowCode(mlir::RewriterBase &b, mlir::Location loc, const RowForm &form,
          SharedMemory &shared, const RowTeam &team);

  /// With `keeps`, values stay in registers from one pass to the next; without,
  /// each pass reads the row again. Adds to the sums of `columns`, which need
  /// values that are kept.
  void emit(bool keeps, llvm::SmallVectorImpl<mlir::Value> &columns);

private:
  /// The sums of each reduction of a pass, one for each of its results.
  using Sums = llvm::SmallVector<Values>;

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
  void addToColumns(int pass, llvm::MutableArrayRef<mlir::Value> columns);
  void storePoints(const Chunk &chunk);
  void storeScalars();

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
