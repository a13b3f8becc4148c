//===- OutOfMemory.h - How a run without memory ends ------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_TOOLS_SUPPORT_OUTOFMEMORY_H
#define MPOPT_TOOLS_SUPPORT_OUTOFMEMORY_H

namespace mp {

/// True if a limit on this process leaves it next to no memory: what faults
/// then has met a stack that cannot grow, or an allocation that nobody checked.
/// Handlers of signals may call it.
bool isMemoryUsedUp();

/// True if LLVM gives up because of a lack of memory: its threads need some.
bool isLackOfMemory(const char *reason);

/// Whether the exception that ends the program is one.
bool isLackOfMemoryThrown();

/// A lack of memory, in whatever thread, ends the program with one line and
/// exit code 70, as fatal errors of LLVM do. `program` outlives it.
void installFatalErrorHandlers(const char *program);

} // namespace mp

#endif // MPOPT_TOOLS_SUPPORT_OUTOFMEMORY_H
