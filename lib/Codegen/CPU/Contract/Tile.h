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

/// A register tile of MR x NR, and how the micro-panels for it are stored.
struct TileShape {
  TileShape(const ContractShape &contract, ConfigAttr config);

  Products products;
  /// Of the sums.
  mlir::Type element;
  int64_t mr;
  /// NR is so many vectors of so many lanes.
  int64_t vectors, lanes;
  PanelFormat lhsFormat, rhsFormat;
  /// The LHS is not packed: of this memory; whether K goes along a line of it.
  mlir::Type lhsInPlace;
  bool lhsIsLine = false;
  /// The RHS is not packed: of this type, in memory of that of its elements.
  mlir::Type rhsInPlace;
  mlir::Type rhsElement;
  /// What these are rounded to, or null.
  mlir::Type rhsRounding;

  int64_t nr() const { return vectors * lanes; }
  int64_t size() const { return mr * nr(); }
};

/// The product of some micro-panels of the LHS and one of the RHS.
struct PanelProduct {
  /// The panels, and from one to the next.
  mlir::Value lhs, lhsPlace, lhsPitch;
  /// Of an LHS in place: what rows and places of K add to `lhsPlace`, the first
  /// of these, and how many rows there are.
  IndexFunction rowOffsets, depthOffsets;
  mlir::Value firstRow, firstDepth, numRows;
  /// The panel, or where the first column is.
  mlir::Value rhs, rhsPlace;
  /// What is summed up.
  mlir::Value k;
  /// Tiles follow each other there.
  mlir::Value sums, sumPlace;
  /// Panels of the LHS.
  mlir::Value count;
  /// Whether sums are added to; null where they are not.
  mlir::Value accumulate;
  /// Columns that are there.
  mlir::Value numColumns;
  /// With an LHS in place: columns that the next panel needs, which are asked
  /// for meanwhile; -1 for none.
  mlir::Value ahead;
  /// Of an RHS in place: what an index of K adds, and the first of these.
  IndexFunction kOffsets;
  mlir::Value firstK;
};

/// Products of tiles after which all of the next panel has been asked for: each
/// asks for an equal part.
constexpr int64_t prefetchParts = 6;

/// Gets a tile's sums: rows of as many vectors.
using TakeSums = llvm::function_ref<void(mlir::Value tile, int64_t vectors,
                                         mlir::ValueRange sums)>;

/// Multiplies here; sums are handed over in registers. Not for AMX.
void emitPanelProduct(LoopBuilder &e, const TileShape &shape,
                      const PanelProduct &product, TakeSums take);

/// Calls the function that does it, which `module` gets where it has none.
void emitPanelProduct(LoopBuilder &e, mlir::ModuleOp module,
                      const TileShape &shape, const PanelProduct &product);

/// How a panel of so few columns is packed: by chunks of K.
PanelFormat getTailFormat(const TileShape &shape, int64_t columns);
/// The product of one micro-panel of the LHS, which is packed by lanes, and
/// `columns` in this format, whose sums go where those of a tile would.
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
  /// The place of a vector of columns, rows aside; the offsets of its lanes
  /// where they need not follow each other.
  struct Line {
    const Access *access;
    mlir::Value place, offsets;
  };

public:
  TileStore(LoopBuilder &e, Contraction &contraction, const TileShape &shape);
  void enterBatch(LoopBuilder &e, mlir::Value batch);
  /// Asks for the memory that the results of a tile are made of and go to.
  void prefetch(LoopBuilder &e, mlir::Value firstRow, mlir::Value firstColumn,
                mlir::Value rows);
  /// The sums of a tile lie from `at` on.
  void store(LoopBuilder &e, mlir::Value firstRow, mlir::Value firstColumn,
             mlir::Value sums, mlir::Value at);

  /// A vector of columns: one line for each operand of the epilogue and for
  /// the output.
  struct Vector {
    llvm::SmallVector<Line> lines;
    mlir::Value mask;
    /// Whether lanes follow each other in all lines that may be runs; null if
    /// they always do.
    mlir::Value isRun;
  };
  /// All of a tile; behind the last column their masks are empty.
  llvm::SmallVector<Vector> getVectors(LoopBuilder &e, mlir::Value firstColumn);
  /// Rows of sums, one for each of `vectors`, all of whose lines are runs.
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
