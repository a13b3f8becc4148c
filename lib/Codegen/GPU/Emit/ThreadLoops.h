//===- ThreadLoops.h - Loops that threads share -----------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_CODEGEN_GPU_EMIT_THREADLOOPS_H
#define MPOPT_LIB_CODEGEN_GPU_EMIT_THREADLOOPS_H

#include "mp-opt/Codegen/Target/GPULimits.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/PatternMatch.h"

namespace mp {

using device::warpSize;

/// Threads that share work: those of a block, or of a grid.
struct Threads {
  /// The thread's number among them.
  mlir::Value id;
  int64_t count;

  /// Emits `body` for [0, points), each by one of the threads. Neighbouring
  /// threads have neighbouring points.
  void forEach(mlir::OpBuilder &b, mlir::Location loc, int64_t points,
               llvm::function_ref<void(mlir::Value)> body) const;
  /// Emits code that one of the threads runs.
  void byFirst(mlir::OpBuilder &b, mlir::Location loc,
               llvm::function_ref<void()> body) const;
};

/// The number of the thread in its block, and of the block, along x.
mlir::Value getThread(mlir::OpBuilder &b, mlir::Location loc);
mlir::Value getBlock(mlir::OpBuilder &b, mlir::Location loc);

mlir::Value makeIndex(mlir::OpBuilder &b, mlir::Location loc, int64_t value);

/// The indices of which `linear` counts the combinations, the last one
/// fastest.
llvm::SmallVector<mlir::Value> delinearize(mlir::OpBuilder &b,
                                           mlir::Location loc,
                                           mlir::Value linear,
                                           llvm::ArrayRef<int64_t> extents);

/// Emits a loop over [0, extent), which yields the results of `body` on `sums`.
llvm::SmallVector<mlir::Value>
emitSequence(mlir::OpBuilder &b, mlir::Location loc, int64_t extent,
             llvm::ArrayRef<mlir::Value> sums,
             llvm::function_ref<llvm::SmallVector<mlir::Value>(
                 mlir::Value, llvm::ArrayRef<mlir::Value>)>
                 body);

/// Shared memory of the blocks of a kernel.
class SharedMemory {
public:
  explicit SharedMemory(mlir::gpu::GPUFuncOp function) : function(function) {}

  /// Makes plain memory that nothing else in the kernel has, or in the part of
  /// it that has begun.
  mlir::Value make(mlir::OpBuilder &b, mlir::Location loc,
                   mlir::MemRefType type);
  /// Begins a part of a kernel that has blocks of its own: it may have the
  /// memory of the parts before.
  void beginPart() { taken.clear(); }

private:
  mlir::gpu::GPUFuncOp function;
  /// All memory, and that of the current part.
  llvm::SmallVector<mlir::Value> known;
  llvm::SmallDenseSet<mlir::Value> taken;
};

/// Combines two partial results.
using CombineFn = llvm::function_ref<mlir::Value(mlir::OpBuilder &, mlir::Value,
                                                 mlir::Value)>;

/// `value` of each `lanes` neighbouring lanes of a warp combined, in a fixed
/// order: each of them gets the result. All lanes of the warp come here. With a
/// `distance`, only lanes that are so far apart are combined. Both are powers
/// of two.
mlir::Value reduceLanes(mlir::OpBuilder &b, mlir::Location loc,
                        mlir::Value value, int64_t lanes, CombineFn combine,
                        int64_t distance = 1);

/// `value` of all threads of a block combined, in a fixed order; the result is
/// the first thread's. All threads come here.
mlir::Value reduceBlock(mlir::OpBuilder &b, mlir::Location loc,
                        SharedMemory &shared, const Threads &threads,
                        mlir::Value value, CombineFn combine);

} // namespace mp

#endif // MPOPT_LIB_CODEGEN_GPU_EMIT_THREADLOOPS_H
