//===- OutOfMemory.h - How a run without memory ends ------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_TOOLS_SUPPORT_OUTOFMEMORY_H
#define MPOPT_TOOLS_SUPPORT_OUTOFMEMORY_H

#include "llvm/ADT/StringRef.h"

namespace mp {

/// True if a limit on this process leaves it almost no memory. A fault is then
/// due to a stack that cannot grow, or to an allocation that was not checked.
/// Signal handlers may call it.
bool isMemoryUsedUp();

/// True if LLVM gives up because of a lack of memory: its threads need some.
bool isLackOfMemory(const char *reason);

/// True if the exception that ends the program is a lack of memory.
bool isLackOfMemoryThrown();

/// Writes `text` to standard error, as far as that is possible. Signal handlers
/// may call it.
void printDirectly(llvm::StringRef text);

/// Returns in the first thread that ends the run. Other threads wait for the
/// end of the process; a second call of the same thread, whose report has
/// failed, ends it.
void claimEndOfRun();

/// Lets a lack of memory in any thread end the program with one line and exit
/// code 70, like fatal errors of LLVM. `program` outlives the handlers.
void installFatalErrorHandlers(const char *program);

} // namespace mp

#endif // MPOPT_TOOLS_SUPPORT_OUTOFMEMORY_H
