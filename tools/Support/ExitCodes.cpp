//===- ExitCodes.cpp - What runs of the tools end with --------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ExitCodes.h"
#include "Message.h"

#include "mp-opt/API/Model/Error.h"

namespace mp {

static int getExitCode(ErrorKind kind) {
  switch (kind) {
  case ErrorKind::Usage:
    return exitUsage;
  case ErrorKind::BadInput:
    return exitBadInput;
  case ErrorKind::NotSupported:
    return exitNotSupported;
  case ErrorKind::DeviceFailed:
    return exitDeviceFailed;
  }
  return exitInternal;
}

int reportError(llvm::StringRef prefix, llvm::Error error) {
  ErrorDetails details = takeDetails(std::move(error));
  if (!details.isReported)
    printMessage(prefix, mlir::DiagnosticSeverity::Error, details.text);
  return getExitCode(details.kind);
}

} // namespace mp
