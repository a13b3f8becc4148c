//===- RowFusion.h - Reductions and what surrounds them, row by row -*- C++
//-*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_CODEGEN_COMMON_ROWFUSION_H
#define MPOPT_CODEGEN_COMMON_ROWFUSION_H

#include "mlir/IR/Operation.h"
#include "mlir/Support/LogicalResult.h"

namespace mp {

/// Makes one `scf.forall` over rows of each elementwise linalg op on tensors in
/// `root` that depends on reductions of rows of at most so many elements,
/// together with these and all that only they share.
mlir::LogicalResult fuseRows(mlir::Operation *root, int64_t rowElements);

} // namespace mp

#endif // MPOPT_CODEGEN_COMMON_ROWFUSION_H
