//===- Completion.h - What shells complete ----------------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// --print-completion=SHELL writes a script for bash, zsh or fish, made from the
// tables of flags of a program and its commands. A script does not run the
// program: it contains names, choices and the places of files.
//
// Each command prints its own part (Flags::parse, for a hidden argument), since
// only the command knows its flags; printCompletion prints the text around the
// parts.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_TOOLS_SUPPORT_COMPLETION_H
#define MPOPT_TOOLS_SUPPORT_COMPLETION_H

#include "Flags.h"

#include "llvm/Support/raw_ostream.h"

namespace mp {

/// The data for a command's part of a script, or for the part of a program that
/// is run without a command.
struct CompletionPart {
  /// "mp-run train", or "mp-opt".
  std::string tool;
  /// The help text, in one line.
  std::string help;
  /// The flags that are shown, including --help etc.
  std::vector<Flag> flags;
  /// Names, with dashes, of flags that are offered once a letter is typed.
  std::vector<std::string> others;
};

/// Prints the part of a script for `shell`, one of the three.
void printCompletionPart(llvm::StringRef shell, const CompletionPart &part,
                         llvm::raw_ostream &os);

/// The argument that makes a command print its part: `--completion-part=SHELL`.
inline constexpr llvm::StringLiteral completionPartFlag = "completion-part";

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
  std::vector<CompletedCommand> commands;

  std::vector<llvm::StringRef> getCommandNames() const;
};

/// Prints the script that --print-completion among `arguments` requests.
/// Returns the exit code, or nothing without a request.
std::optional<int> printCompletion(const CompletedProgram &program,
                                   llvm::ArrayRef<const char *> arguments);

} // namespace mp

#endif // MPOPT_TOOLS_SUPPORT_COMPLETION_H
