//===- Interrupt.cpp - Signals that end a run after its step --------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Interrupt.h"

#include <iterator>
#include <unistd.h>

namespace mp {

static volatile std::sig_atomic_t pending = 0;

static void note(int signal) { pending = signal; }

Interrupt::Interrupt() {
  pending = 0;
  struct sigaction action = {};
  action.sa_handler = note;
  // Interrupted reads and writes continue.
  action.sa_flags = SA_RESTART | int(SA_RESETHAND);
  ::sigaction(SIGINT, nullptr, &oldInterrupt);
  ::sigaction(SIGTERM, nullptr, &oldTerminate);
  ::sigaction(SIGHUP, nullptr, &oldHangUp);
  // Background jobs of a shell ignore Ctrl-C, and jobs of nohup the end of a
  // terminal; that is kept.
  if (oldInterrupt.sa_handler != SIG_IGN)
    ::sigaction(SIGINT, &action, nullptr);
  if (oldTerminate.sa_handler != SIG_IGN)
    ::sigaction(SIGTERM, &action, nullptr);
  if (oldHangUp.sa_handler != SIG_IGN)
    ::sigaction(SIGHUP, &action, nullptr);
}

Interrupt::~Interrupt() {
  ::sigaction(SIGINT, &oldInterrupt, nullptr);
  ::sigaction(SIGTERM, &oldTerminate, nullptr);
  ::sigaction(SIGHUP, &oldHangUp, nullptr);
}

int Interrupt::get() const { return pending; }

static constexpr int endings[] = {SIGINT, SIGTERM, SIGHUP};
/// The previous action of each signal, which is run after the line is printed:
/// LLVM removes temporary files.
static struct sigaction previousEndings[std::size(endings)];
static llvm::StringRef lastLine;
/// A terminal may show a line that has not ended.
static bool endsLine;

static void sayAndEnd(int signal) {
  if (endsLine)
    (void)!::write(STDERR_FILENO, "\n", 1);
  (void)!::write(STDERR_FILENO, lastLine.data(), lastLine.size());
  for (size_t i = 0; i < std::size(endings); ++i)
    if (endings[i] == signal)
      ::sigaction(signal, &previousEndings[i], nullptr);
  ::raise(signal);
}

void hushInterrupts() { lastLine = ""; }

void sayInterrupts(llvm::StringRef line) {
  lastLine = line;
  endsLine = ::isatty(STDERR_FILENO);
  struct sigaction action = {};
  action.sa_handler = sayAndEnd;
  for (size_t i = 0; i < std::size(endings); ++i) {
    ::sigaction(endings[i], nullptr, &previousEndings[i]);
    if (previousEndings[i].sa_handler != SIG_IGN)
      ::sigaction(endings[i], &action, nullptr);
  }
}

} // namespace mp
