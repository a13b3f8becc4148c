//===- Reduce.h - mp-opt reduce ---------------------------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_TOOLS_REDUCE_H
#define MPOPT_TOOLS_REDUCE_H

#include "mlir/IR/DialectRegistry.h"
#include "llvm/ADT/ArrayRef.h"

namespace mp {

/// Runs `mp-opt reduce` with the arguments after that word. Returns the exit
/// code.
int runReduce(llvm::ArrayRef<const char *> arguments,
              mlir::DialectRegistry &registry);

} // namespace mp

#endif // MPOPT_TOOLS_REDUCE_H
