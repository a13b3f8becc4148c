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

/// The writer of one shell's script: a head, a part for each command and one
/// for the program itself, and a tail.
struct CompletionShell {
  llvm::StringLiteral name;
  void (*printHead)(const CompletedProgram &program, llvm::raw_ostream &os);
  void (*printPart)(const CompletionPart &part, llvm::raw_ostream &os);
  void (*printTail)(const CompletedProgram &program, llvm::raw_ostream &os);
};

extern const CompletionShell bashShell, zshShell, fishShell;

// Functions for all shells.

/// The kind of value after a flag's equals sign.
enum class ValueKind {
  /// The flag takes no value.
  None,
  /// Text that shells cannot complete, except for the words of the flag.
  Text,
  File,
  Folder
};
ValueKind getValueKind(const Flag &flag);

/// The words that are offered as values.
llvm::ArrayRef<std::string> getWords(const Flag &flag);

/// The flag's name, then its synonyms, with dashes.
std::vector<std::string> spellNames(const Flag &flag);

/// The function for "mp-run train" is "_mp_run_train".
std::string getFunctionName(llvm::StringRef tool);

/// Replaces each mark in `text` by its value.
std::string
fillIn(llvm::StringRef text,
       llvm::ArrayRef<std::pair<llvm::StringRef, std::string>> values);

/// Quotes `text` with single quotes; `quoteInside` replaces a quote within it,
/// since shells escape it differently.
std::string quote(llvm::StringRef text, llvm::StringRef quoteInside);

} // namespace mp

#endif // MPOPT_TOOLS_SUPPORT_COMPLETIONSHELLS_H
