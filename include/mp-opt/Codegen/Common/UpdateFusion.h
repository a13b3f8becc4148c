//===- UpdateFusion.h - One op for the updates of a state -------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_CODEGEN_COMMON_UPDATEFUSION_H
#define MPOPT_CODEGEN_COMMON_UPDATEFUSION_H

#include "mlir/IR/Operation.h"

namespace mp {

/// Makes one elementwise linalg op of all ops that only update states of the
/// functions in `root`, for each set of states that read each other: a
/// parameter and its moments. Other readers of their sources, as the test for
/// finite gradients, compute these again if that takes no more memory.
void fuseUpdates(mlir::Operation *root);

} // namespace mp

#endif // MPOPT_CODEGEN_COMMON_UPDATEFUSION_H
