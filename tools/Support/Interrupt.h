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

/// Notes the first SIGINT, SIGTERM or SIGHUP while it lives; a second signal of
/// the same kind ends the process as usual.
class Interrupt {
public:
  Interrupt();
  ~Interrupt();

  /// The received signal; 0 if there is none.
  int get() const;

private:
  struct sigaction oldInterrupt, oldTerminate, oldHangUp;
};

/// Makes SIGINT, SIGTERM and SIGHUP end the process with `line`, unless an
/// Interrupt handles them. `line` lives as long as the process.
void sayInterrupts(llvm::StringRef line);
/// Makes the signals end the process without the line: another process prints
/// it.
void hushInterrupts();

} // namespace mp

#endif // MPOPT_TOOLS_SUPPORT_INTERRUPT_H
