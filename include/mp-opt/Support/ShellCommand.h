//===- ShellCommand.h - Commands of users -----------------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_SUPPORT_SHELLCOMMAND_H
#define MPOPT_SUPPORT_SHELLCOMMAND_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <functional>
#include <string>

namespace mp {

/// The text in a form that a POSIX shell reads as one word.
std::string quoteForShell(llvm::StringRef text);

struct CommandEnd {
  enum Kind : uint8_t {
    /// `status` is the exit status.
    Exited,
    /// `status` is the signal that ended it.
    Signaled,
    TimedOut,
    /// The caller has stopped it.
    Stopped,
  };
  Kind kind = Exited;
  int status = 0;
  /// The end of what it has printed, at most 4 KiB.
  std::string output;

  bool isSuccess() const { return kind == Exited && status == 0; }
  /// A shell ends with 126 or 127 if it cannot start a program.
  bool isNotStarted() const {
    return kind == Exited && (status == 126 || status == 127);
  }
  /// "exit status 2", "signal 11 (Segmentation fault)", "no answer in time".
  std::string describe() const;
};

struct CommandOptions {
  /// In seconds; 0 for no limit.
  uint64_t timeout = 0;
  /// Asked while the command runs: true to stop it. May be empty.
  std::function<bool()> isStopped;
  /// The file that receives what the command prints, and is replaced.
  std::string outputFile;
};

/// Runs a command by /bin/sh in a process group of its own, which is killed if
/// the time is over or the caller stops it. Its standard input is empty. Fails
/// if the shell cannot be started or the file cannot be written.
llvm::Expected<CommandEnd> runShellCommand(const std::string &command,
                                           const CommandOptions &options);

} // namespace mp

#endif // MPOPT_SUPPORT_SHELLCOMMAND_H
