//===- IndexedCode.h - Updates at places that data name ---------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Scatters are loops over indices: each iteration updates an element, or a row,
// that an index names, and those of the same place follow each other. So places
// are shared out: a thread owns some, goes through all indices in the order of
// the loops, and does what concerns its own. No two threads write the same
// element, and sums have the bits that the loops give.
//
// A block's threads share the search for what concerns it: each looks at some
// indices that follow each other, and those that name a place of the block are
// queued in order. So the cost is indices times blocks, by threads of a block.
// Where each iteration of an outer loop has indices of its own, and a block's
// share of them, its blocks are its own, too.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_CODEGEN_GPU_INDEXEDCODE_H
#define MPOPT_LIB_CODEGEN_GPU_INDEXEDCODE_H

#include "ThreadLoops.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"

namespace mp {

/// A nest of loops of known trips around one update.
class IndexedLoop {
public:
  /// Nothing where `loop` is no such nest.
  static std::optional<IndexedLoop> get(mlir::scf::ForOp loop);

  /// Elements that are updated, if often.
  int64_t countPoints() const;
  /// Iterations that each thread goes through: those of loops that places
  /// depend on by data alone.
  int64_t countScanned() const;
  /// Threads that can do so beside each other for the same indices: iterations
  /// of the other loops, times elements of a row.
  int64_t countFree() const;
  /// Iterations that have blocks of their own.
  int64_t countOuter() const;
  /// Places that data name.
  int64_t countKeys() const;

private:
  friend class IndexedCode;

  struct Loop {
    mlir::scf::ForOp op;
    int64_t lower, step, trips;
    /// Its iterations never update the same place.
    bool isFree = false;
    /// They are free, and each has indices of its own.
    bool hasOwnKeys = false;
    /// They have blocks of their own.
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
  /// A store of an element or a map over a row, and what it writes to.
  mlir::Operation *writer = nullptr;
  mlir::Value target;
  int64_t rowPoints = 1;
  /// What data say of a place, and how many each can be.
  llvm::SmallVector<mlir::Value> keys;
  llvm::SmallVector<int64_t> keySizes;
  /// What keys are computed by, and checks; in the order of the body.
  llvm::SetVector<mlir::Operation *> slice;
  /// Whether these are the same for all free iterations of a block.
  bool isUniform = true;
};

/// Code of such a nest for a grid.
class IndexedCode {
public:
  IndexedCode(mlir::RewriterBase &rewriter, IndexedLoop loop, int64_t threads);

  int64_t countBlocks() const {
    return loop.countOuter() * columnBlocks * keyBlocks;
  }
  /// At the builder's place; `block` is the number of the block. The nest
  /// stays.
  void emit(mlir::Value thread, mlir::Value block,
            mlir::gpu::GPUFuncOp function);

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
  void emitStaged(mlir::gpu::GPUFuncOp function);
  void emitDirect();

  mlir::RewriterBase &b;
  mlir::Location loc;
  IndexedLoop loop;
  /// Threads of a block, and of them those for the same places.
  int64_t threads, width;
  int64_t columnBlocks, keyBlocks, keysEach;
  /// The block's first place; of the thread: its number, its first place, its
  /// share of a row.
  mlir::Value blockKey, thread, firstKey, column, isInside;
  mlir::IRMapping freeIndices;
};

} // namespace mp

#endif // MPOPT_LIB_CODEGEN_GPU_INDEXEDCODE_H
