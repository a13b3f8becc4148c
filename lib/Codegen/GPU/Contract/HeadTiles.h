//===- HeadTiles.h - Factors of attention in shared memory ------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_CODEGEN_GPU_CONTRACT_HEADTILES_H
#define MPOPT_LIB_CODEGEN_GPU_CONTRACT_HEADTILES_H

#include "AttentionPlan.h"
#include "Fragments.h"
#include "TileCopy.h"

namespace mp::kernel::tiling {

/// The place of a block of threads.
struct AttentionBlock {
  mlir::Value thread, batch, firstRow;
};

/// One factor in shared memory: some of its rows or columns of the matrix by
/// all elements of the head, in slices. Copies are those of contractions, whose
/// classes read a contraction; it exists only while code is emitted.
class HeadTiles {
public:
  /// `ofRows`: the factor of the block's rows, which is copied once; otherwise
  /// columns are copied step by step. `line` is the operand as one line of
  /// memory, `shared` the block's shared memory from `begin` on.
  HeadTiles(TileBuilder &e, const AttentionShape &shape,
            const AttentionPlan &plan, const AttentionPass &pass,
            const HeadFactor &factor, bool ofRows, mlir::Value memory,
            mlir::Value shared, int64_t begin, const AttentionBlock &block);
  ~HeadTiles();
  HeadTiles(const HeadTiles &) = delete;

  bool isAsync() const { return copy->isAsync; }
  const HeadFactor &getFactor() const { return factor; }
  /// Begins to copy the columns from `column` on into a stage; of rows, which
  /// have no steps, all.
  void start(TileBuilder &e, mlir::Value column, mlir::Value stage) const;
  /// The same through registers: reads elements, and writes them.
  llvm::SmallVector<mlir::Type> getReadTypes(TileBuilder &e) const;
  llvm::SmallVector<mlir::Value> read(TileBuilder &e, mlir::Value column) const;
  void write(TileBuilder &e, mlir::ValueRange elements,
             mlir::Value stage) const;
  /// A slice, as operand of a product; `isTurned` as in SharedTile.
  SharedTile getSlice(TileBuilder &e, int64_t slice, mlir::Value stage,
                      bool isTurned) const;

private:
  /// The position of slice `slice` among those of all stages.
  mlir::Value getNumber(TileBuilder &e, int64_t slice, mlir::Value stage) const;

  HeadFactor factor;
  bool ofRows;
  mlir::Value shared;
  /// A contraction with this factor, and its operands, in the order of their
  /// creation.
  llvm::SmallVector<mlir::Operation *> made;
  std::optional<Problem> problem;
  std::optional<TilePlan> tilePlan;
  const CopyPlan *copy = nullptr;
  std::optional<OperandPlaces> places;
  /// One for each slice.
  llvm::SmallVector<std::unique_ptr<TileCopy>> copies;
};

} // namespace mp::kernel::tiling

#endif // MPOPT_LIB_CODEGEN_GPU_CONTRACT_HEADTILES_H
