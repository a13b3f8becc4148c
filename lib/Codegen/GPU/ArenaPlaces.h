//===- ArenaPlaces.h - More memory for kernels ------------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_CODEGEN_GPU_ARENAPLACES_H
#define MPOPT_LIB_CODEGEN_GPU_ARENAPLACES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

namespace mp {

/// Bytes between places in the arena, which every access is aligned to.
constexpr int64_t placeBytes = 256;

/// The arena of `main`, which is found by the places in it; null if it has
/// none.
mlir::memref::AllocOp findArena(mlir::func::FuncOp main);

/// Bytes of the arena from `offset` on, a multiple of `placeBytes`.
struct ArenaRange {
  mlir::memref::AllocOp arena;
  int64_t offset = 0;

  /// Views the range from its byte `begin` on, before all groups.
  mlir::Value view(mlir::MemRefType type, int64_t begin = 0);
};

/// Makes the arena of `main` longer by at least `bytes`, which are the result.
/// The arena is made if there is none.
ArenaRange growArena(mlir::func::FuncOp main, int64_t bytes);

/// Makes a place for `type` at the end of the arena, which is shared with
/// nothing.
mlir::Value makePlace(mlir::func::FuncOp main, mlir::MemRefType type);

/// Stores the scalar `value` in each element of `place`.
void makeFill(mlir::OpBuilder &b, mlir::Location loc, mlir::Value place,
              mlir::Value value);

} // namespace mp

#endif // MPOPT_LIB_CODEGEN_GPU_ARENAPLACES_H
