//===- Completion.cpp - Completion in shells ------------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Completion.h"

#include "CompletionScripts.h"
#include "ExitCodes.h"
#include "Message.h"

#include "mp-opt/Support/AtomicFile.h"
#include "mp-opt/Support/Nearest.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace llvm;

namespace mp {

//===----------------------------------------------------------------------===//
// Candidates
//===----------------------------------------------------------------------===//

/// The flag's name, then its synonyms, with dashes.
static std::vector<std::string> spellNames(const Flag &flag) {
  std::vector<std::string> names = {spellFlag(flag.name)};
  for (StringRef synonym : flag.synonyms)
    names.push_back(spellFlag(synonym));
  return names;
}

/// The paths that are values of a flag.
static StringRef getPaths(const Flag &flag) {
  if (is_contained({"FILE", "DATA", "MODEL", "PROGRAM", "NAME=FILE"},
                   flag.value))
    return "files";
  return is_contained({"DIR", "WHERE"}, flag.value) ? "folders" : "none";
}

static void printHead(StringRef paths, StringRef prefix, raw_ostream &os) {
  os << paths << "\t" << prefix << "\n";
}

/// The flag with the name or synonym `spelling`; null if there is none.
static const Flag *findFlag(ArrayRef<Flag> flags, StringRef spelling) {
  const Flag *found = find_if(flags, [&](const Flag &flag) {
    return is_contained(spellNames(flag), spelling);
  });
  return found == flags.end() ? nullptr : found;
}

static void printValues(const Flag &flag, StringRef prefix, raw_ostream &os) {
  printHead(getPaths(flag), prefix, os);
  for (StringRef word : flag.choices.empty() ? flag.words : flag.choices)
    os << word << "\n";
}

/// Prints the names of `flags`, except those that are among `before` and must
/// not be repeated.
static void printNames(ArrayRef<Flag> flags, ArrayRef<const char *> before,
                       raw_ostream &os) {
  SmallPtrSet<const Flag *, 8> given;
  for (StringRef word : before)
    given.insert(findFlag(flags, word.split('=').first));
  for (const Flag &flag : flags) {
    if (given.contains(&flag) && !flag.isRepeatable)
      continue;
    for (StringRef name : spellNames(flag)) {
      bool isLong = name.starts_with("--"), hasValue = !flag.value.empty();
      if (!hasValue || flag.isOptional || !isLong)
        os << name << "\t" << flag.help << "\n";
      if (hasValue && isLong)
        os << name << "=\t" << flag.help << "\n";
    }
  }
}

void printCandidates(ArrayRef<Flag> flags, const OtherFlags *others,
                     ArrayRef<const char *> words, raw_ostream &os) {
  StringRef word = words.back();
  words = words.drop_back();
  const Flag *before = words.empty() ? nullptr : findFlag(flags, words.back());
  size_t equals = word.find('=');
  if (is_contained(words, StringRef("--")))
    return printHead("files", "", os);
  if (before && !before->value.empty() && !before->isOptional)
    return printValues(*before, "", os);
  if (!word.starts_with("-"))
    return printHead("files", "", os);
  if (equals != StringRef::npos) {
    const Flag *flag = findFlag(flags, word.take_front(equals));
    return flag ? printValues(*flag, word.take_front(equals + 1), os)
                : printHead("none", "", os);
  }
  printHead("none", "", os);
  printNames(flags, words, os);
  if (others && word.size() > 2)
    for (StringRef name : others->getNames())
      os << name << "\n";
}

/// Answers for the last one of `words`.
static int complete(const CompletedProgram &program,
                    ArrayRef<const char *> words) {
  std::vector<const char *> arguments = {completeFlag.data()};
  ArrayRef<CompletedCommand> commands = program.commands;
  if (words.size() == 1 && *words.front() != '-') {
    printHead(program.takesFiles ? "files" : "none", "", outs());
    for (const CompletedCommand &command : commands.drop_front())
      if (int code = command.run(arguments))
        return code;
    return exitOk;
  }
  const CompletedCommand *command =
      find_if(commands, [&](const CompletedCommand &command) {
        return words.size() > 1 && command.name == words.front();
      });
  if (command == commands.end())
    command = &commands.front();
  append_range(arguments, words.drop_front(command->name.empty() ? 0 : 1));
  return command->run(arguments);
}

//===----------------------------------------------------------------------===//
// Scripts
//===----------------------------------------------------------------------===//

static constexpr StringLiteral flagName = "print-completion";

static constexpr std::pair<StringLiteral, StringLiteral> scripts[] = {
    {"bash", bashScript}, {"zsh", zshScript}, {"fish", fishScript}};

Flag makeCompletionFlag() {
  Flag flag{flagName.str(), "", "a script for a shell", "", ""};
  for (const auto &[shell, script] : scripts)
    flag.choices.push_back(shell.str());
  flag.value = join(flag.choices, "|");
  return flag;
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

static int printScript(StringRef program, StringRef wanted) {
  for (const auto &[shell, script] : scripts) {
    if (shell != wanted)
      continue;
    SmallVector<StringRef> parts;
    script.split(parts, "@P@");
    outs() << join(parts, program);
    return exitOk;
  }
  printMessage(program, mlir::DiagnosticSeverity::Error,
               "--" + flagName + ": expected bash, zsh or fish, got '" +
                   wanted + "'" +
                   suggestNearest(wanted, makeCompletionFlag().choices));
  return exitUsage;
}

std::optional<int> printCompletion(const CompletedProgram &program,
                                   ArrayRef<const char *> arguments) {
  int code;
  if (arguments.size() > 1 && arguments.front() == completeFlag)
    code = complete(program, arguments.drop_front());
  else if (std::optional<StringRef> wanted = findRequest(arguments))
    code = printScript(program.name, *wanted);
  else
    return std::nullopt;
  if (Error failed = flushStandardOutput())
    return reportError(program.name, std::move(failed));
  return code;
}

} // namespace mp
