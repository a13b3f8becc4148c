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

/// Rows and columns of a register tile, and how its panels are stored.
struct TileShape {
  TileShape(const ContractShape &contract, ConfigAttr config);

  Products products;
  /// Of the sums.
  mlir::Type element;
  int64_t rows, vectors, lanes;
  PanelFormat rowFormat, columnFormat;
  /// Rows are not packed: lines of this memory.
  mlir::Type rowsInPlace;
  /// Columns are not packed: of this type, in memory of this one.
  mlir::Type columnsInPlace;
  mlir::Type columnElement;
  /// What these are rounded to, or null.
  mlir::Type columnRounding;

  int64_t columns() const { return vectors * lanes; }
  int64_t size() const { return rows * columns(); }
};

/// The multiplication of one panel of columns by some panels of rows.
struct Strip {
  /// Panels of rows, and from one to the next; of rows in place, the first row,
  /// from one row to the next, and how many there are.
  mlir::Value rows, rowPlace, rowPitch, height;
  /// The panel, or where the first column is.
  mlir::Value columns, columnPlace;
  mlir::Value depth;
  /// Tiles follow each other there.
  mlir::Value sums, sumPlace;
  mlir::Value count;
  /// Whether sums are added to; null where they are not.
  mlir::Value accumulate;
  /// Columns that are there.
  mlir::Value width;
  /// Of columns in place: what a place in the summed dimension adds, and the
  /// first of these places.
  IndexFunction offsets;
  mlir::Value firstDepth;
};

/// Gets a tile's sums: rows of as many vectors.
using TakeSums = llvm::function_ref<void(mlir::Value tile, int64_t vectors,
                                         mlir::ValueRange sums)>;

/// Multiplies here; sums are handed over in registers. Not for AMX.
void emitStrip(LoopBuilder &e, const TileShape &shape, const Strip &strip,
               TakeSums take);

/// Calls the function that does it, which `module` gets where it has none.
void emitStrip(LoopBuilder &e, mlir::ModuleOp module, const TileShape &shape,
               const Strip &strip);

/// The same by matrix instructions (MatrixTile.cpp).
void emitMatrixStrip(LoopBuilder &e, mlir::ModuleOp module,
                     const TileShape &shape, const Strip &strip);

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
