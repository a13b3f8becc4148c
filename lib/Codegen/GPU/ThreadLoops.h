//===- ThreadLoops.h - Loops that threads share -----------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_CODEGEN_GPU_THREADLOOPS_H
#define MPOPT_LIB_CODEGEN_GPU_THREADLOOPS_H

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/PatternMatch.h"

namespace mp {

/// Lanes of a warp.
constexpr int64_t warpSize = 32;
/// The approximate number of blocks that a device has room for at once.
constexpr int64_t manyBlocks = 256;

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

/// Combines two partial results.
using CombineFn = llvm::function_ref<mlir::Value(mlir::OpBuilder &, mlir::Value,
                                                 mlir::Value)>;

/// `value` of all threads of a block combined, in a fixed order; the result is
/// the first thread's. All threads come here. `function` gets shared memory.
mlir::Value reduceBlock(mlir::OpBuilder &b, mlir::Location loc,
                        mlir::gpu::GPUFuncOp function, const Threads &threads,
                        mlir::Value value, CombineFn combine);

/// Attribute (a unit) of the branches at the outermost level of a kernel of
/// which each block takes one.
constexpr llvm::StringLiteral partName = "device.part";

/// Shared memory of the block as plain memory, which nothing else in the kernel
/// has, or in the part of it that the builder is in.
mlir::Value makeShared(mlir::OpBuilder &b, mlir::Location loc,
                       mlir::gpu::GPUFuncOp function, mlir::MemRefType type);

} // namespace mp

#endif // MPOPT_LIB_CODEGEN_GPU_THREADLOOPS_H
