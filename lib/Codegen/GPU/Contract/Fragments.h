//===- Fragments.h - Registers of mma.sync ----------------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The operands of products of 16 x 8 x 16 (tf32: 16 x 8 x 8), of which each of
// a warp's lanes has a part: of a left-hand side rows lane / 4 and lane / 4 +
// 8, of a right-hand side column lane / 4, of sums these rows and two columns
// from 2 (lane mod 4) on.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_CODEGEN_GPU_CONTRACT_FRAGMENTS_H
#define MPOPT_LIB_CODEGEN_GPU_CONTRACT_FRAGMENTS_H

#include "TileBuilder.h"
#include "TilePlan.h"

namespace mp::kernel::tiling {

/// A stage of an operand in shared memory.
struct SharedTile {
  mlir::Value memory;
  const CopyPlan &copy;
  mlir::Value stage;
  /// True if it is read for a product along the other of its two directions:
  /// K of the copy is M or N of the product.
  bool isTurned = false;
};

/// The index in shared memory of the chunk with this position in a line.
mlir::Value getSharedPlace(TileBuilder &e, const CopyPlan &copy,
                           mlir::Value stage, mlir::Value line,
                           mlir::Value position);

/// The four registers of rows `first` to `first` + 15 and of two chunks of K
/// from `k` on.
llvm::SmallVector<mlir::Value>
loadLHSFragment(TileBuilder &e, const SharedTile &tile, mlir::Value lane,
                mlir::Value first, mlir::Value k);
/// Two registers each of columns `first` to `first` + 7 and of the next 8.
llvm::SmallVector<mlir::Value>
loadRHSFragments(TileBuilder &e, const SharedTile &tile, mlir::Value lane,
                 mlir::Value first, mlir::Value k);

/// Rounds fp32 to tf32, to nearest; mma.sync would drop bits.
mlir::Value roundToTF32(TileBuilder &e, mlir::Value element);
/// Converts a pair of neighbours along K to an operand of mma.sync: bf16 in
/// words, fp16 in pairs, tf32 in words.
mlir::Value toRegister(TileBuilder &e, mlir::Value pair);

/// Adds a product of 16 x 8 to its four sums. Factors are of type `element`.
void emitMMA(TileBuilder &e, mlir::Type element, llvm::ArrayRef<mlir::Value> a,
             llvm::ArrayRef<mlir::Value> b,
             llvm::MutableArrayRef<mlir::Value> sums);

} // namespace mp::kernel::tiling

#endif // MPOPT_LIB_CODEGEN_GPU_CONTRACT_FRAGMENTS_H
