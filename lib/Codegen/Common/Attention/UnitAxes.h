//===- UnitAxes.h - Matrices without axes of one element --------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_CODEGEN_COMMON_ATTENTION_UNITAXES_H
#define MPOPT_LIB_CODEGEN_COMMON_ATTENTION_UNITAXES_H

#include "mp-opt/Dialect/Kernel/Kernel.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <set>
#include <vector>

namespace mp {

using SizesOfMatrix = std::vector<int64_t>;

/// Lets products read and compute matrices of the given sizes without the axes
/// of one element that only a reshape between them adds or drops: masks that
/// are the same for all heads leave such axes.
void foldUnitAxes(mlir::func::FuncOp main,
                  const std::set<SizesOfMatrix> &sizes);

} // namespace mp

#endif // MPOPT_LIB_CODEGEN_COMMON_ATTENTION_UNITAXES_H
