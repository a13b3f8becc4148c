//===- Verification.h - Running what is about to be written -----*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The result of a run against its input with every float as float64, on data
// or on random numbers (--verify).
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_TOOLS_VERIFICATION_H
#define MPOPT_TOOLS_VERIFICATION_H

#include "Options.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Support/Timing.h"

namespace mp {

/// Runs both and prints a table of the differences, and of the nodes that make
/// them, on standard error. Returns exitOk, exitOutside, or what stands against
/// running them; errors have been printed.
int verifyResult(mlir::ModuleOp input, mlir::ModuleOp result,
                 const Options &options, llvm::StringRef name,
                 mlir::TimingScope &timing);

} // namespace mp

#endif // MPOPT_TOOLS_VERIFICATION_H
