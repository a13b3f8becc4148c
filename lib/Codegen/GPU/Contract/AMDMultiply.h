//===- AMDMultiply.h - Products by matrix cores -----------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_CODEGEN_GPU_CONTRACT_AMDMULTIPLY_H
#define MPOPT_LIB_CODEGEN_GPU_CONTRACT_AMDMULTIPLY_H

#include "Multiply.h"

namespace mp::kernel::tiling {

/// Multiplies by MFMA or WMMA, as the tile says: instructions of AMD's waves.
std::unique_ptr<Multiply> makeAMDMultiply(TileBuilder &e, const TilePlan &plan,
                                          mlir::Value lhs, mlir::Value rhs,
                                          mlir::Value thread);

} // namespace mp::kernel::tiling

#endif // MPOPT_LIB_CODEGEN_GPU_CONTRACT_AMDMULTIPLY_H
