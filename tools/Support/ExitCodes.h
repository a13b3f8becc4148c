//===- ExitCodes.h - What runs of the tools end with ------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_TOOLS_SUPPORT_EXITCODES_H
#define MPOPT_TOOLS_SUPPORT_EXITCODES_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

namespace mp {

enum ExitCode : int {
  exitOk = 0,
  exitBadInput = 1,
  exitUsage = 2,
  /// Numbers are outside their tolerance.
  exitOutside = 3,
  exitNotSupported = 4,
  /// The loss of a training run is NaN or infinite.
  exitDiverged = 5,
  /// `mp-opt diff --exit-code` has found a difference.
  exitDiffers = 6,
  /// A device was lost or has failed.
  exitDeviceFailed = 7,
  /// A bug, or exhausted memory.
  exitInternal = 70,
  /// Ctrl-C.
  exitInterrupted = 130,
};

/// Prints `PREFIX: error: ...`, unless diagnostics have reported the error;
/// returns the exit code of its kind.
int reportError(llvm::StringRef prefix, llvm::Error error);

} // namespace mp

#endif // MPOPT_TOOLS_SUPPORT_EXITCODES_H
