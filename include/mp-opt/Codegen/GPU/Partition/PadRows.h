//===- PadRows.h - Rows at aligned addresses --------------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_CODEGEN_GPU_PARTITION_PADROWS_H
#define MPOPT_CODEGEN_GPU_PARTITION_PADROWS_H

#include "mlir/IR/BuiltinOps.h"

namespace mp {

/// Gives memory that `main` allocates and that contractions read as a factor
/// longer rows, if its rows are not a multiple of 16 bytes: contractions then
/// copy 16 bytes at a time. So does the result of a contraction from which a
/// map computes such memory. Nobody reads or writes the padding. Memory keeps
/// its rows if it has other users than loops, contractions and views, or if it
/// would grow by more than an eighth.
void padRows(mlir::ModuleOp module);

} // namespace mp

#endif // MPOPT_CODEGEN_GPU_PARTITION_PADROWS_H
