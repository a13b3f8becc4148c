//===- Output.cpp - How runs of mp-run end --------------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Commands.h"

#include "mp-opt/Support/AtomicFile.h"

namespace mp {

int reportError(llvm::Error error, int code) {
  llvm::errs() << "mp-run: error: " << toString(std::move(error)) << "\n";
  return code;
}

int finishOutput(int code) {
  llvm::Error failed = flushStandardOutput();
  return failed ? reportError(std::move(failed)) : code;
}

} // namespace mp
