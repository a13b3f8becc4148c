//===- TileStore.h - Results of tiles ---------------------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_CODEGEN_GPU_CONTRACT_TILESTORE_H
#define MPOPT_LIB_CODEGEN_GPU_CONTRACT_TILESTORE_H

#include "Multiply.h"
#include "Places.h"

namespace mp::kernel::tiling {

/// Applies the epilogue to a thread's sums and stores them in c. `places` are
/// of all operands.
/// `shared` is all of the block's shared memory, of bytes.
void storeTile(TileBuilder &e, const Problem &problem, const TilePlan &plan,
               llvm::ArrayRef<OperandPlaces> places, const Multiply &multiply,
               const BlockPlace &block, mlir::Value shared, mlir::Value thread,
               mlir::ValueRange sums);

} // namespace mp::kernel::tiling

#endif // MPOPT_LIB_CODEGEN_GPU_CONTRACT_TILESTORE_H
