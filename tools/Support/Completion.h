//===- Completion.h - Completion in shells ----------------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// --print-completion=SHELL writes a short script for bash, zsh or fish. For
// each completion, the script runs
//
//   PROGRAM --complete WORD...
//
// with the words from the one after the program's name to the one at the
// cursor, which may be empty. The answer is
//
//   none|files|folders<TAB>PREFIX
//   CANDIDATE[<TAB>HELP]
//   ...
//
// The first line names the paths that are candidates, too, and the part of the
// last word before all candidates, e.g. "--emit=". A candidate that ends with
// "=" has no space after it. The shell selects the candidates that match.
//
// Each command answers for its own flags (Flags::parse); the program answers
// for its commands.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_TOOLS_SUPPORT_COMPLETION_H
#define MPOPT_TOOLS_SUPPORT_COMPLETION_H

#include "Flags.h"

#include "llvm/Support/raw_ostream.h"

namespace mp {

/// The first argument of a request. Without a word after it, a command prints
/// its own name and help as a candidate.
inline constexpr llvm::StringLiteral completeFlag = "--complete";

/// Prints the candidates for the last one of `words`, which is at least one
/// word after the name of a command with the flags `flags`. Names of `others`
/// are candidates once a letter of a flag is typed.
void printCandidates(llvm::ArrayRef<Flag> flags, const OtherFlags *others,
                     llvm::ArrayRef<const char *> words, llvm::raw_ostream &os);

/// The programs' flag for their tables: it is only listed for shells.
Flag makeCompletionFlag();

struct CompletedCommand {
  /// Empty for the program without a command.
  llvm::StringRef name;
  std::function<int(llvm::ArrayRef<const char *> arguments)> run;
};

struct CompletedProgram {
  llvm::StringRef name;
  /// True if a file may be given in place of a command.
  bool takesFiles;
  /// The program without a command is the first one.
  std::vector<CompletedCommand> commands;
};

/// Answers --complete, or prints the script that --print-completion among
/// `arguments` requests. Returns the exit code, or nothing without a request.
std::optional<int> printCompletion(const CompletedProgram &program,
                                   llvm::ArrayRef<const char *> arguments);

} // namespace mp

#endif // MPOPT_TOOLS_SUPPORT_COMPLETION_H
