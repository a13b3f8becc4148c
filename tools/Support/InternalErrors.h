//===- InternalErrors.h - How a run that met a bug ends ---------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A signal, an uncaught exception, a fatal error of LLVM or exhausted memory
// ends the run with exitInternal, a message that names the pass, and a file
// that reproduces the bug.
//
// The file costs nothing until it is needed: the handler starts mp-opt again
// with the same arguments and a hidden one, which says at which step to write
// the current state and stop. Runs are deterministic and reach that step again.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_TOOLS_SUPPORT_INTERNALERRORS_H
#define MPOPT_TOOLS_SUPPORT_INTERNALERRORS_H

#include "llvm/ADT/StringRef.h"

#include <string>

namespace mp {

/// Must be called first in main; the arguments must outlive the process's work.
void installInternalErrorHandler(int argc, char **argv);

/// The arguments in one line, quoted for a shell.
std::string getCommandLine();

/// The progress of the run, for the message. A second run can stop at a step:
/// reading is step 0, each pass on the whole module is a step, writing is the
/// last one.
namespace progress {

/// `obstacle` says why there can be no reproducer during this phase; null if
/// there can be one.
void startReading(llvm::StringRef name, const char *obstacle);
/// Sets a reason against a reproducer for the rest of the run.
void setObstacle(const char *obstacle);
/// Passes nest: passes on parts of the module run inside one on the whole
/// module.
void startPass(llvm::StringRef name, bool isStep);
void finishPass(llvm::StringRef name);
void failPass();
void startWriting(const char *obstacle);
void startComparing();

unsigned getStep();
/// True if a pass has neither finished nor failed.
bool isInPass();

} // namespace progress
} // namespace mp

#endif // MPOPT_TOOLS_SUPPORT_INTERNALERRORS_H
