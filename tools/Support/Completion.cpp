//===- Completion.cpp - What shells complete ------------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Completion.h"

#include "CompletionShells.h"
#include "ExitCodes.h"
#include "Message.h"

#include "mp-opt/Support/AtomicFile.h"
#include "mp-opt/Support/Nearest.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace llvm;

namespace mp {

static constexpr StringLiteral flagName = "print-completion";

static constexpr const CompletionShell *shells[] = {&bashShell, &zshShell,
                                                    &fishShell};

static const CompletionShell *findShell(StringRef name) {
  const auto *found =
      find_if(shells, [&](auto *shell) { return shell->name == name; });
  return found == std::end(shells) ? nullptr : *found;
}

Flag makeCompletionFlag() {
  Flag flag{flagName.str(), "", "a script for a shell", "", ""};
  for (const CompletionShell *shell : shells)
    flag.choices.push_back(shell->name.str());
  flag.value = join(flag.choices, "|");
  return flag;
}

std::vector<std::string> spellNames(const Flag &flag) {
  std::vector<std::string> names = {flag.name};
  append_range(names, flag.synonyms);
  for (std::string &name : names)
    name = spellFlag(name);
  return names;
}

ValueKind getValueKind(const Flag &flag) {
  if (flag.value.empty())
    return ValueKind::None;
  if (is_contained({"FILE", "DATA", "MODEL", "PROGRAM", "NAME=FILE"},
                   flag.value))
    return ValueKind::File;
  if (is_contained({"DIR", "WHERE"}, flag.value))
    return ValueKind::Folder;
  return ValueKind::Text;
}

ArrayRef<std::string> getWords(const Flag &flag) {
  return flag.choices.empty() ? flag.words : flag.choices;
}

std::string getFunctionName(StringRef tool) {
  std::string name = ("_" + tool).str();
  for (char &c : name)
    if (!isAlnum(c))
      c = '_';
  return name;
}

std::string fillIn(StringRef text,
                   ArrayRef<std::pair<StringRef, std::string>> values) {
  std::string filled = text.str();
  for (const auto &[mark, value] : values)
    for (size_t at = 0;
         (at = filled.find(mark.data(), at, mark.size())) != std::string::npos;
         at += value.size())
      filled.replace(at, mark.size(), value);
  return filled;
}

std::string quote(StringRef text, StringRef quoteInside) {
  std::string quoted = "'";
  for (char c : text)
    quoted += c == '\'' ? quoteInside.str() : std::string(1, c);
  return quoted + "'";
}

void printCompletionPart(StringRef shell, const CompletionPart &part,
                         raw_ostream &os) {
  if (const CompletionShell *found = findShell(shell))
    found->printPart(part, os);
}

/// The requested shell, if any.
static std::optional<StringRef> findRequest(ArrayRef<const char *> arguments) {
  for (StringRef argument : arguments) {
    if (argument == "--")
      break;
    if (argument.ltrim('-').split('=').first == flagName &&
        argument.starts_with("-"))
      return argument.split('=').second;
  }
  return std::nullopt;
}

std::vector<StringRef> CompletedProgram::getCommandNames() const {
  std::vector<StringRef> names;
  for (const CompletedCommand &command : commands)
    if (!command.name.empty())
      names.push_back(command.name);
  return names;
}

std::optional<int> printCompletion(const CompletedProgram &program,
                                   ArrayRef<const char *> arguments) {
  std::optional<StringRef> wanted = findRequest(arguments);
  if (!wanted)
    return std::nullopt;
  const CompletionShell *shell = findShell(*wanted);
  if (!shell) {
    printMessage(program.name, mlir::DiagnosticSeverity::Error,
                 "--" + flagName + ": expected bash, zsh or fish, got '" +
                     *wanted + "'" +
                     suggestNearest(*wanted, makeCompletionFlag().choices));
    return exitUsage;
  }
  shell->printHead(program, outs());
  std::string request = ("--" + completionPartFlag + "=" + *wanted).str();
  for (const CompletedCommand &command : program.commands)
    if (int code = command.run({request.c_str()}))
      return code;
  shell->printTail(program, outs());
  if (Error failed = flushStandardOutput())
    return reportError(program.name, std::move(failed));
  return exitOk;
}

} // namespace mp
