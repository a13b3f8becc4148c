//===- StandardStreams.h - Standard streams at both ends --------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_TOOLS_SUPPORT_STANDARDSTREAMS_H
#define MPOPT_TOOLS_SUPPORT_STANDARDSTREAMS_H

#include "llvm/ADT/StringRef.h"

namespace mp {

/// Takes the numbers of streams that the caller has closed, so that no file
/// that is opened later gets what is printed. Their reads and writes fail.
void reserveStandardStreams();

/// The exit code of a run that ends with `code`: an error of standard output is
/// one of the run. Standard error may be closed or full: nothing can be said of
/// that, and the exit code stays.
int finishStandardStreams(llvm::StringRef tool, int code);

} // namespace mp

#endif // MPOPT_TOOLS_SUPPORT_STANDARDSTREAMS_H
