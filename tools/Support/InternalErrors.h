//===- InternalErrors.h - How a run that met a bug ends ---------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A signal, an uncaught exception, a fatal error of LLVM or exhausted memory
// end the run with exitInternal, a message that names the pass, and a file
// that shows the bug again.
//
// That file costs nothing until it is needed: the handler starts mp-opt once
// more with the same arguments and a hidden one, which says at which step to
// write what there is and stop. Runs are deterministic, so it gets there.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_TOOLS_SUPPORT_INTERNALERRORS_H
#define MPOPT_TOOLS_SUPPORT_INTERNALERRORS_H

#include "llvm/ADT/StringRef.h"

#include <string>

namespace mp {

/// Call it first in main; the arguments must outlive the process's work.
void installInternalErrorHandler(int argc, char **argv);

/// The arguments as a shell would take them, in one line.
std::string getCommandLine();

/// How far the run is, for the message. Steps are what a second run can stop
/// at: reading is step 0, each pass on the whole module is one, then writing.
namespace progress {

/// `obstacle` says why there can be no reproducer as long as that goes on;
/// null if there can be one.
void startReading(llvm::StringRef name, const char *obstacle);
/// Keeps what prevents a reproducer whatever the run does next.
void setObstacle(const char *obstacle);
/// Passes nest: those on parts of the module run inside of one on all of it.
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
