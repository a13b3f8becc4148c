//===- Outline.h - One function for equal contractions ----------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_CONVERSION_KERNELTOLOOPS_OUTLINE_H
#define MPOPT_LIB_CONVERSION_KERNELTOLOOPS_OUTLINE_H

#include "mp-opt/Conversion/KernelToLoops.h"
#include "mp-opt/Dialect/Kernel/Kernel.h"

#include "mlir/IR/BuiltinOps.h"

namespace mp::kernel {

/// Moves every contraction of `module` to a function with dynamic sizes, one
/// for all that differ in sizes only; what static sizes tell of bounds is left
/// there in attributes. Where a constant's panels outlast a call, the
/// function's last argument is their slot. Returns the contractions in these
/// functions.
llvm::SmallVector<ContractOp> outlineContracts(mlir::ModuleOp module,
                                               const KernelTarget &target);

} // namespace mp::kernel

#endif // MPOPT_LIB_CONVERSION_KERNELTOLOOPS_OUTLINE_H
