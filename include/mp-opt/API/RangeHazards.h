//===- RangeHazards.h - What random data do not show ------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Random data are floats of N(0, 1) and integers 0 and 1 (ModelValue.h). Most
// of what 16 bit does to a model does not depend on the range of its inputs;
// the exceptions are looked for here.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_API_RANGEHAZARDS_H
#define MPOPT_API_RANGEHAZARDS_H

#include "mlir/IR/BuiltinOps.h"

#include <string>

namespace mp {

/// The first node of `input` whose result depends on ranges that random data
/// do not have, where `result`, which was made of it, rounds to 16 bit: "node
/// 'k' (Cast-13) makes integers of floats". Empty if there is none. Neither
/// module has calls of functions.
std::string describeRangeHazard(mlir::ModuleOp input, mlir::ModuleOp result);

} // namespace mp

#endif // MPOPT_API_RANGEHAZARDS_H
