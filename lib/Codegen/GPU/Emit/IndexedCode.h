//===- IndexedCode.h - Updates at places that data name ---------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Scatters are loops over indices: each iteration updates an element, or a row,
// that an index selects, and updates of the same place are done in order.
// Places are therefore divided among threads: a thread owns some, goes through
// all indices in the order of the loops, and does the updates of its own
// places. No two threads write the same element, and sums have the bits that
// the loops give.
//
// A block's threads share the search for its updates: each looks at some
// adjacent indices, and those that select a place of the block are queued in
// order. The cost is indices times blocks, divided by the threads of a block.
// If each iteration of an outer loop has its own indices, and enough of them
// for a block, it has its own blocks, too.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_CODEGEN_GPU_EMIT_INDEXEDCODE_H
#define MPOPT_LIB_CODEGEN_GPU_EMIT_INDEXEDCODE_H

#include "ThreadLoops.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"

namespace mp {

/// A nest of loops of known trips around one update.
class IndexedLoop {
public:
  /// Returns std::nullopt if `loop` is not such a nest.
  static std::optional<IndexedLoop> get(mlir::scf::ForOp loop);

  /// The number of updated elements, counting each update.
  int64_t countPoints() const;
  /// Iterations that each thread goes through: those of loops that places
  /// depend on only through data.
  int64_t countScanned() const;
  /// Threads that can do so in parallel for the same indices: iterations of the
  /// other loops, times elements of a row.
  int64_t countFree() const;
  /// Iterations that have blocks of their own.
  int64_t countOuter() const;
  /// The number of places that data can select.
  int64_t countKeys() const;
  /// Blocks of `threads` among which places are divided, of a device that has
  /// room for about `manyBlocks`: each block goes through all indices.
  int64_t countBlocks(int64_t threads, int64_t manyBlocks) const;

private:
  friend class IndexedCode;

  /// The division of the iterations that may run in parallel: threads of a
  /// block that have the same places, and blocks for all iterations.
  std::pair<int64_t, int64_t> divideColumns(int64_t threads) const;
  struct Loop {
    mlir::scf::ForOp op;
    int64_t lower, step, trips;
    /// True if its iterations never update the same place.
    bool isFree = false;
    /// True if it is free, and each iteration has its own indices.
    bool hasOwnKeys = false;
    /// True if iterations have their own blocks.
    bool isOuter = false;
  };
  bool readLoops(mlir::scf::ForOp loop);
  bool readWriter();
  bool readPlace(llvm::ArrayRef<mlir::OpFoldResult> place);
  bool checkBody();
  void findSlice();
  void chooseOuter();
  int64_t countTrips(llvm::function_ref<bool(const Loop &)> isCounted) const;

  llvm::SmallVector<Loop> loops;
  mlir::Block *body = nullptr;
  /// A store of an element or a map over a row, and the memory that it writes.
  mlir::Operation *writer = nullptr;
  mlir::Value target;
  int64_t rowPoints = 1;
  /// The values that data provide for a place, and the number of values of
  /// each.
  llvm::SmallVector<mlir::Value> keys;
  llvm::SmallVector<int64_t> keySizes;
  /// The ops that compute keys, and checks; in the order of the body.
  llvm::SetVector<mlir::Operation *> slice;
  /// True if these are the same for all free iterations of a block.
  bool isUniform = true;
};

/// Code of such a nest for a grid.
class IndexedCode {
public:
  IndexedCode(mlir::RewriterBase &rewriter, IndexedLoop loop, int64_t threads,
              int64_t blocks);

  /// Emits code at the insertion point; `block` is the number of the block. The
  /// nest stays.
  void emit(mlir::Value thread, mlir::Value block, SharedMemory &memory);

private:
  void setFree(mlir::Value point, bool areOuter);
  void setScanned(mlir::IRMapping &mapping, mlir::Value iteration);
  void clone(mlir::IRMapping &mapping,
             llvm::function_ref<bool(mlir::Operation *)> isWanted);
  mlir::Value getKey(mlir::IRMapping &mapping);
  void update(mlir::IRMapping &mapping, mlir::Value key,
              llvm::function_ref<bool(mlir::Operation *)> isWanted,
              llvm::function_ref<void(mlir::IRMapping &)> prepare);
  mlir::Value findOwn(mlir::Value begin, mlir::Value keys);
  void enqueue(mlir::Value bits, mlir::Value place, mlir::Value keys,
               mlir::Value queue);
  void emitStaged(SharedMemory &memory);
  void emitDirect();

  mlir::RewriterBase &b;
  mlir::Location loc;
  IndexedLoop loop;
  /// Threads of a block, and those of them that have the same places.
  int64_t threads, width;
  int64_t columnBlocks, keyBlocks, keysEach;
  /// The block's first place; the thread's number, its first place, and its
  /// share of a row.
  mlir::Value blockKey, thread, firstKey, column, isInside;
  mlir::IRMapping freeIndices;
};

} // namespace mp

#endif // MPOPT_LIB_CODEGEN_GPU_EMIT_INDEXEDCODE_H
