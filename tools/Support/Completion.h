//===- Completion.h - What shells complete ----------------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// --print-completion=SHELL writes a script for bash, zsh or fish, made from the
// tables of flags of a program and its commands. A script asks no program when
// it runs: it holds names, choices and where files are expected.
//
// Each command prints its own part (Flags::parse, for one argument that nobody
// types), since it alone knows its flags; printCompletion prints what is around
// the parts.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_TOOLS_SUPPORT_COMPLETION_H
#define MPOPT_TOOLS_SUPPORT_COMPLETION_H

#include "Flags.h"

#include "llvm/Support/raw_ostream.h"

namespace mp {

/// What a script knows of a command, or of what a program does without one.
struct CompletionPart {
  /// "mp-run train", or "mp-opt".
  std::string tool;
  /// One line.
  std::string help;
  /// Those that are shown, --help and its like among them.
  std::vector<Flag> flags;
  /// Names, with dashes, of flags that are offered once a letter is typed.
  std::vector<std::string> others;
};

/// Prints the part of a script; `shell` is one of the three.
void printCompletionPart(llvm::StringRef shell, const CompletionPart &part,
                         llvm::raw_ostream &os);

/// The argument that asks a command for its part: `--completion-part=SHELL`.
inline constexpr llvm::StringLiteral completionPartFlag = "completion-part";

/// The flag of programs, for their tables: in no list but those of shells.
Flag makeCompletionFlag();

struct CompletedCommand {
  /// Empty for what the program does without a command.
  llvm::StringRef name;
  std::function<int(llvm::ArrayRef<const char *> arguments)> run;
};

struct CompletedProgram {
  llvm::StringRef name;
  /// Whether files may stand where a command may.
  bool takesFiles;
  std::vector<CompletedCommand> commands;

  std::vector<llvm::StringRef> getCommandNames() const;
};

/// Prints the script that --print-completion among `arguments` asks for.
/// Returns the exit code, or nothing if nobody asks.
std::optional<int> printCompletion(const CompletedProgram &program,
                                   llvm::ArrayRef<const char *> arguments);

} // namespace mp

#endif // MPOPT_TOOLS_SUPPORT_COMPLETION_H
