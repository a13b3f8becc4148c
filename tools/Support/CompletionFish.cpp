//===- CompletionFish.cpp - Completion in fish ----------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A part is a line for each flag, which applies if the command line contains
// the part's command.
//
//===----------------------------------------------------------------------===//

#include "CompletionShells.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace llvm;

namespace mp {

static std::string quote(StringRef text) {
  std::string escaped;
  for (char c : text)
    escaped += c == '\\' ? "\\\\" : std::string(1, c);
  return quote(escaped, "\\'");
}

static constexpr StringLiteral head =
    R"sh(# What fish completes for @P@; written by
#   @P@ --print-completion=fish

# The command that the line has; fails if it has none, and one is expected.
function _@F@_has
    set -l words (commandline -opc)
    set -l command ''
    if set -q words[2]; and contains -- $words[2] @COMMANDS@
        set command $words[2]
    end
    test "$command" = "$argv[1]"
end

# Whether a command may stand here.
function _@F@_wants_command
    test (count (commandline -opc)) -eq 1
end

# Whether a letter of a flag is typed.
function _@F@_has_letter
    string match -q -- '--?*' (commandline -ct)
end

)sh";

static void printHead(const CompletedProgram &program, raw_ostream &os) {
  os << fillIn(head, {{"@F@", getFunctionName(program.name)},
                      {"@P@", program.name.str()},
                      {"@COMMANDS@", join(program.getCommandNames(), " ")}});
  if (!program.takesFiles)
    os << "complete -c " << program.name << " -n _"
       << getFunctionName(program.name) << "_wants_command -f\n";
}

/// Describes the value of a flag as options of `complete`.
static std::string describeValue(const Flag &flag) {
  std::string words = join(getWords(flag), " ");
  switch (getValueKind(flag)) {
  case ValueKind::None:
    return "";
  case ValueKind::File:
    return std::string(flag.isOptional ? " -F" : " -r -F") +
           (words.empty() ? "" : " -a " + quote(words));
  case ValueKind::Folder:
    if (!words.empty())
      words += " ";
    words += "(__fish_complete_directories (commandline -ct | string replace "
             "-r -- '^-[^=]*=' ''))";
    break;
  case ValueKind::Text:
    break;
  }
  return std::string(flag.isOptional ? " -f" : " -x") +
         (words.empty() ? "" : " -a " + quote(words));
}

static void printPart(const CompletionPart &part, raw_ostream &os) {
  auto [program, command] = StringRef(part.tool).split(' ');
  std::string function = "_" + getFunctionName(program),
              start = ("complete -c " + program + " -n ").str();
  if (!command.empty())
    os << start << function << "_wants_command -a " << command << " -d "
       << quote(part.help) << "\n";
  std::string condition =
      function + "_has" + (command.empty() ? "" : " " + command.str());
  for (const Flag &flag : part.flags)
    for (StringRef name : spellNames(flag))
      os << start << quote(condition)
         << (name.starts_with("--") ? " -l " : " -s ") << name.ltrim('-')
         << describeValue(flag) << " -d " << quote(flag.help) << "\n";
  for (StringRef name : part.others)
    os << start << quote(condition + "; and " + function + "_has_letter")
       << " -l " << name.ltrim('-') << "\n";
}

static void printTail(const CompletedProgram &, raw_ostream &) {}

const CompletionShell fishShell = {"fish", printHead, printPart, printTail};

} // namespace mp
