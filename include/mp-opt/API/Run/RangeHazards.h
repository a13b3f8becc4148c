//===- RangeHazards.h - Effects that random data hide -----------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Random data are floats of N(0, 1) and integers 0 and 1 (ModelValue.h). Most
// effects of 16-bit types do not depend on the range of inputs; this file finds
// the exceptions.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_API_RUN_RANGEHAZARDS_H
#define MPOPT_API_RUN_RANGEHAZARDS_H

#include "mlir/IR/BuiltinOps.h"

#include <string>

namespace mp {

/// Finds the first node of `input` whose result depends on ranges that random
/// data do not have, if `result`, the conversion of `input`, rounds to 16 bit
/// there: "node 'k' (Cast-13) makes integers of floats". Empty if there is
/// none. Neither module may contain calls of functions.
std::string describeRangeHazard(mlir::ModuleOp input, mlir::ModuleOp result);

} // namespace mp

#endif // MPOPT_API_RUN_RANGEHAZARDS_H
