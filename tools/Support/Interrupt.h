//===- Interrupt.h - Signals that end a run after its step ------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_TOOLS_SUPPORT_INTERRUPT_H
#define MPOPT_TOOLS_SUPPORT_INTERRUPT_H

#include "llvm/ADT/StringRef.h"

#include <csignal>

namespace mp {

/// While it lives, the first SIGINT, SIGTERM or SIGHUP is noted; the second of
/// its kind ends the process as usual.
class Interrupt {
public:
  Interrupt();
  ~Interrupt();

  /// The signal that has come; 0 if none has.
  int get() const;

private:
  struct sigaction oldInterrupt, oldTerminate, oldHangUp;
};

/// From here on SIGINT, SIGTERM and SIGHUP end the process with a line that
/// says so, unless an Interrupt notes them. `line` lives as long as the
/// process.
void sayInterrupts(llvm::StringRef line);
/// They still end it, but without the line: another process says it.
void hushInterrupts();

} // namespace mp

#endif // MPOPT_TOOLS_SUPPORT_INTERRUPT_H
