//===- Lanes.h - Vectors of neighbouring elements ---------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_CODEGEN_GPU_EMIT_LANES_H
#define MPOPT_LIB_CODEGEN_GPU_EMIT_LANES_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/IRMapping.h"

namespace mp {

/// Bytes of an access to memory by one thread.
constexpr int64_t accessBytes = 16;

/// Bytes of an element in memory.
int64_t getElementBytes(mlir::Type element);

/// True if the ops of a block compute each point on its own, so that they can
/// be applied to vectors. Indices of dimensions are allowed if `takesIndices`.
bool isLaneWise(mlir::Block &block, bool takesIndices);

/// The elements, up to `most` and a power of two as it is, to a multiple of
/// which the memory of `memref` is aligned. Memory that is not a view, and the
/// arena's places, are aligned to `accessBytes`.
int64_t getAlignedElements(mlir::Value memref, int64_t most);

/// Code for `width` neighbouring points. Values are vectors, or scalars if the
/// width is one.
class LaneCode {
public:
  LaneCode(mlir::OpBuilder &b, mlir::Location loc, int64_t width)
      : b(b), loc(loc), width(width) {}

  /// The type of `width` elements.
  mlir::Type getType(mlir::Type element) const;
  /// `value` in all lanes, unless it has them already.
  mlir::Value broadcast(mlir::Value value);
  using Place =
      llvm::function_ref<llvm::SmallVector<mlir::Value>(int64_t lane)>;
  /// Loads neighbours in memory, by the widest accesses that the alignment of
  /// `memref` allows. The first is at a multiple of `width`; `place` returns
  /// the indices of a lane's element.
  mlir::Value load(mlir::Value memref, Place place);
  void store(mlir::Value value, mlir::Value memref, Place place);
  /// Emits the ops of a block. `mapping` has the block's arguments; constants
  /// and values from outside are broadcast. `getIndex` returns the index of a
  /// dimension, in all lanes or the same for all. Returns the terminator's
  /// operands.
  llvm::SmallVector<mlir::Value>
  emit(mlir::Block &block, mlir::IRMapping &mapping,
       llvm::function_ref<mlir::Value(uint64_t)> getIndex = nullptr);
  /// The numbers of elements: `first`, and those after it.
  mlir::Value countFrom(mlir::Value first);

private:
  int64_t getStep(mlir::Value memref) const;

  mlir::OpBuilder &b;
  mlir::Location loc;
  int64_t width;
};

} // namespace mp

#endif // MPOPT_LIB_CODEGEN_GPU_EMIT_LANES_H
