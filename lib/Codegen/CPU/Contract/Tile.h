//===- Tile.h - Register tiles: products and stores -------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_CODEGEN_CPU_CONTRACT_TILE_H
#define MPOPT_LIB_CODEGEN_CPU_CONTRACT_TILE_H

#include "Panels.h"

namespace mp::kernel {

/// A register tile of MR x NR, and the formats of its micro-panels.
struct TileShape {
  TileShape(const ContractShape &contract, ConfigAttr config);

  Products products;
  /// The type of the sums.
  mlir::Type element;
  int64_t mr;
  /// NR is `vectors` vectors of `lanes` lanes.
  int64_t vectors, lanes;
  PanelFormat lhsFormat, rhsFormat;
  /// The type of an LHS that is not packed; true if K is contiguous in it.
  mlir::Type lhsInPlace;
  bool lhsIsLine = false;
  /// The type of an RHS that is not packed; its memory has the type of its
  /// elements.
  mlir::Type rhsInPlace;
  mlir::Type rhsElement;
  /// The type to which its elements are rounded, or null.
  mlir::Type rhsRounding;

  int64_t nr() const { return vectors * lanes; }
  int64_t size() const { return mr * nr(); }
};

/// The product of some micro-panels of the LHS and one of the RHS.
struct PanelProduct {
  /// The panels of the LHS, and the distance from one to the next.
  mlir::Value lhs, lhsOffset, lhsPitch;
  /// For an LHS in place: offsets of rows and of K from `lhsOffset`, the first
  /// indices of both, and the number of rows.
  IndexFunction rowOffsets, depthOffsets;
  mlir::Value firstRow, firstDepth, numRows;
  /// The panel, or the offset of the first column.
  mlir::Value rhs, rhsOffset;
  /// The number of terms of a sum.
  mlir::Value k;
  /// The memory of the sums, tile after tile.
  mlir::Value sums, sumOffset;
  /// The number of panels of the LHS.
  mlir::Value count;
  /// True if the product is added to the sums; null if it never is.
  mlir::Value accumulate;
  /// The number of columns that exist.
  mlir::Value numColumns;
  /// With an LHS in place: columns that the next panel needs, which are
  /// prefetched; -1 for none.
  mlir::Value ahead;
  /// For an RHS in place: the offset of an index of K, and the first index.
  IndexFunction kOffsets;
  mlir::Value firstK;
};

/// The number of tiles' products that prefetch the next panel, an equal part
/// each.
constexpr int64_t prefetchParts = 6;

/// Gets a tile's sums: rows of as many vectors.
using TakeSums = llvm::function_ref<void(mlir::Value tile, int64_t vectors,
                                         mlir::ValueRange sums)>;

/// Emits the product in place; sums are handed over in registers. Not for AMX.
void emitPanelProduct(LoopBuilder &e, const TileShape &shape,
                      const PanelProduct &product, TakeSums take);

/// Emits a call of the product's function, which is added to `module` if
/// missing.
void emitPanelProduct(LoopBuilder &e, mlir::ModuleOp module,
                      const TileShape &shape, const PanelProduct &product);

/// The format of a panel of so few columns: chunks of K.
PanelFormat getTailFormat(const TileShape &shape, int64_t columns);
/// Multiplies one micro-panel of the LHS, which is packed by lanes, by
/// `columns` in this format. The sums go to the same offsets as those of a
/// tile.
void emitTailProduct(LoopBuilder &e, mlir::ModuleOp module,
                     const TileShape &shape, int64_t columns,
                     const PanelProduct &product);

/// The same by matrix instructions (MatrixTile.cpp).
void emitMatrixPanelProduct(LoopBuilder &e, mlir::ModuleOp module,
                            const TileShape &shape,
                            const PanelProduct &product);

/// The epilogue of `op` on vectors: the elements that are stored.
mlir::Value applyEpilogue(LoopBuilder &e, ContractOp op,
                          llvm::ArrayRef<mlir::Value> arguments, int64_t lanes);

/// Turns sums into elements of the output and stores them.
class TileStore {
  struct Access {
    unsigned operand;
    IndexFunction rows, columns;
    mlir::Value base;
  };
  /// The offset of a vector of columns, without its rows; the offsets of its
  /// lanes if they may not be contiguous.
  struct Line {
    const Access *access;
    mlir::Value place, offsets;
  };

public:
  TileStore(LoopBuilder &e, Contraction &contraction, const TileShape &shape);
  void enterBatch(LoopBuilder &e, mlir::Value batch);
  /// Prefetches the operands of the epilogue and the output of a tile.
  void prefetch(LoopBuilder &e, mlir::Value firstRow, mlir::Value firstColumn,
                mlir::Value rows);
  /// Stores the sums of a tile, which begin at `at`.
  void store(LoopBuilder &e, mlir::Value firstRow, mlir::Value firstColumn,
             mlir::Value sums, mlir::Value at);

  /// A vector of columns: one line for each operand of the epilogue and for
  /// the output.
  struct Vector {
    llvm::SmallVector<Line> lines;
    mlir::Value mask;
    /// True if lanes are contiguous in all lines that may be runs; null if they
    /// always are.
    mlir::Value isRun;
  };
  /// All vectors of a tile; their masks are empty after the last column.
  llvm::SmallVector<Vector> getVectors(LoopBuilder &e, mlir::Value firstColumn);
  /// Stores rows of sums, one for each of `vectors`, all of whose lines are
  /// runs.
  void store(LoopBuilder &e, mlir::Value firstRow,
             llvm::ArrayRef<Vector> vectors, mlir::ValueRange sums);

private:
  Line getLine(LoopBuilder &e, const Access &access, mlir::Value column);
  Vector getVector(LoopBuilder &e, mlir::Value column);
  /// With `run`, lanes that may be a run are one.
  mlir::Value read(LoopBuilder &e, const Line &line, mlir::Value row,
                   mlir::Value mask, bool run);
  void write(LoopBuilder &e, const Line &line, mlir::Value value,
             mlir::Value row, mlir::Value mask, bool run);
  void storeVector(LoopBuilder &e, const Vector &vector, mlir::Value sums,
                   mlir::Value row, mlir::Value mask, bool run);

  Contraction &contraction;
  TileShape shape;
  llvm::SmallVector<Access> accesses;
};

} // namespace mp::kernel

#endif // MPOPT_LIB_CODEGEN_CPU_CONTRACT_TILE_H
