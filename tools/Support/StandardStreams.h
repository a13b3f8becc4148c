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

/// Reserves the numbers of streams that the caller has closed: output must not
/// go to a file that is opened later. Their reads and writes fail.
void reserveStandardStreams();

/// Returns the exit code of a run that ends with `code`: an error of standard
/// output is an error of the run. Errors of standard error, which may be closed
/// or full, cannot be reported and do not change the exit code.
int finishStandardStreams(llvm::StringRef tool, int code);

} // namespace mp

#endif // MPOPT_TOOLS_SUPPORT_STANDARDSTREAMS_H
