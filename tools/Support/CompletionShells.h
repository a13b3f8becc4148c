//===- CompletionShells.h - Scripts of each shell ---------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_TOOLS_SUPPORT_COMPLETIONSHELLS_H
#define MPOPT_TOOLS_SUPPORT_COMPLETIONSHELLS_H

#include "Completion.h"

namespace mp {

/// How the script of one shell is written: its head, a part for each command
/// and one for the program itself, its tail.
struct CompletionShell {
  llvm::StringLiteral name;
  void (*printHead)(const CompletedProgram &program, llvm::raw_ostream &os);
  void (*printPart)(const CompletionPart &part, llvm::raw_ostream &os);
  void (*printTail)(const CompletedProgram &program, llvm::raw_ostream &os);
};

extern const CompletionShell bashShell, zshShell, fishShell;

// What they share.

/// What stands behind a flag's equals sign.
enum class ValueKind {
  /// Nothing.
  None,
  /// What no shell knows, but for its words.
  Text,
  File,
  Folder
};
ValueKind getValueKind(const Flag &flag);

/// The values that are offered.
llvm::ArrayRef<std::string> getWords(const Flag &flag);

/// With their dashes: the flag's name, then its synonyms.
std::vector<std::string> spellNames(const Flag &flag);

/// "mp-run train" is "_mp_run_train".
std::string getFunctionName(llvm::StringRef tool);

/// `text` with each mark's value in its place.
std::string
fillIn(llvm::StringRef text,
       llvm::ArrayRef<std::pair<llvm::StringRef, std::string>> values);

/// In single quotes; what stands for a quote within them depends on the shell.
std::string quote(llvm::StringRef text, llvm::StringRef quoteInside);

} // namespace mp

#endif // MPOPT_TOOLS_SUPPORT_COMPLETIONSHELLS_H
