//===- Commands.h - The commands of mp-run ----------------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_TOOLS_COMMANDS_H
#define MPOPT_TOOLS_COMMANDS_H

#include "ExitCodes.h"

#include "mlir/IR/DialectRegistry.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"

namespace mp {

using Arguments = llvm::ArrayRef<const char *>;

/// Each gets the arguments behind its name and returns the exit code.
int runRun(Arguments arguments, mlir::DialectRegistry &registry);
int runBench(Arguments arguments, mlir::DialectRegistry &registry);
int runCompare(Arguments arguments, mlir::DialectRegistry &registry);
int runTrain(Arguments arguments, mlir::DialectRegistry &registry);
int runShow(Arguments arguments);

/// Prints `mp-run: error: ...`; returns `code`.
int reportError(llvm::Error error, int code = exitBadInput);

/// What is printed is written, or that is an error.
int finishOutput(int code);

} // namespace mp

#endif // MPOPT_TOOLS_COMMANDS_H
