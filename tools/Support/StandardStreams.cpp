//===- StandardStreams.cpp - Standard streams at both ends ----------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StandardStreams.h"
#include "ExitCodes.h"

#include "mp-opt/Support/AtomicFile.h"

#include "llvm/Support/raw_ostream.h"

#include <cerrno>
#include <fcntl.h>
#include <unistd.h>

namespace mp {

void reserveStandardStreams() {
  for (int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    // open returns this number, since it is the lowest free one.
    if (::fcntl(stream, F_GETFD) < 0 && errno == EBADF)
      (void)::open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}

int finishStandardStreams(llvm::StringRef tool, int code) {
  if (llvm::Error failed = flushStandardOutput()) {
    int failure = reportError(tool, std::move(failed));
    code = code == exitOk ? failure : code;
  }
  // LLVM reports an unchecked error of the stream as a bug.
  llvm::errs().clear_error();
  return code;
}

} // namespace mp
