//===- DataCommands.h - Commands that run a model on data -------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_TOOLS_DATACOMMANDS_H
#define MPOPT_TOOLS_DATACOMMANDS_H

#include "mlir/IR/DialectRegistry.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"

namespace mp {

// Each runs a command with the arguments after its word, and returns the exit
// code.

/// `mp-opt attribute`: which nodes cause the error of a conversion.
int runAttribute(llvm::ArrayRef<const char *> arguments,
                 mlir::DialectRegistry &registry);
/// `mp-opt tune`: error against bytes, and the cheapest precision within one.
int runTune(llvm::ArrayRef<const char *> arguments,
            mlir::DialectRegistry &registry);

/// Replaces a file by one with this text.
llvm::Error writeText(llvm::StringRef path, llvm::StringRef text);

} // namespace mp

#endif // MPOPT_TOOLS_DATACOMMANDS_H
