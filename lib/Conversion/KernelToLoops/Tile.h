//===- Tile.h - Register tiles: products and stores -------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_CONVERSION_KERNELTOLOOPS_TILE_H
#define MPOPT_LIB_CONVERSION_KERNELTOLOOPS_TILE_H

#include "Contraction.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mp::kernel {

/// Rows and columns of a register tile.
struct TileShape {
  mlir::Type element;
  int64_t rows, vectors, lanes;
  int64_t columns() const { return vectors * lanes; }
  int64_t size() const { return rows * columns(); }
};

/// The function that multiplies two panels, which `module` gets where it has
/// none: (rows' panel, place, columns' panel, place, depth, sums, place,
/// whether sums are added to).
mlir::func::FuncOp getTileFunction(mlir::ModuleOp module,
                                   const TileShape &shape);

/// Turns sums into elements of the output and stores them.
class TileStore {
public:
  TileStore(Emitter &e, Contraction &contraction, const TileShape &shape);
  void enterBatch(Emitter &e, mlir::Value batch);
  /// The sums of a tile lie from `at` on.
  void store(Emitter &e, mlir::Value firstRow, mlir::Value firstColumn,
             mlir::Value sums, mlir::Value at);

private:
  struct Access {
    unsigned operand;
    IndexFunction rows, columns;
    mlir::Value base;
  };
  mlir::Value read(Emitter &e, const Access &access, mlir::Value row,
                   mlir::Value column, mlir::Value mask);
  void write(Emitter &e, mlir::Value value, mlir::Value row, mlir::Value column,
             mlir::Value mask);
  mlir::Value apply(Emitter &e, llvm::ArrayRef<mlir::Value> arguments);

  Contraction &contraction;
  TileShape shape;
  llvm::SmallVector<Access> accesses;
};

} // namespace mp::kernel

#endif // MPOPT_LIB_CONVERSION_KERNELTOLOOPS_TILE_H
