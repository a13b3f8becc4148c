//===- Bisect.h - mp-opt bisect ---------------------------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_TOOLS_BISECT_H
#define MPOPT_TOOLS_BISECT_H

#include "mlir/IR/DialectRegistry.h"
#include "llvm/ADT/ArrayRef.h"

namespace mp {

/// Runs `mp-opt bisect` with the arguments after that word. Returns the exit
/// code.
int runBisect(llvm::ArrayRef<const char *> arguments,
              mlir::DialectRegistry &registry);

} // namespace mp

#endif // MPOPT_TOOLS_BISECT_H
