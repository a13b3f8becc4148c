//===- CompletionZsh.cpp - Completion in zsh ------------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A part is a function that calls zsh's _arguments with one specification for
// each flag.
//
//===----------------------------------------------------------------------===//

#include "CompletionShells.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace llvm;

namespace mp {

static void printHead(const CompletedProgram &program, raw_ostream &os) {
  os << "#compdef " << program.name << "\n# What zsh completes for "
     << program.name << "; written by\n#   " << program.name
     << " --print-completion=zsh\n\ntypeset -ga "
     << getFunctionName(program.name) << "_commands=()\n";
}

/// Puts a backslash before each of `marks`.
static std::string escape(StringRef text, StringRef marks) {
  std::string escaped;
  for (char c : text) {
    if (marks.contains(c))
      escaped += '\\';
    escaped += c;
  }
  return escaped;
}

/// Completes words as well as files; `files` is zsh's function for files.
static std::string findEither(StringRef words, StringRef files) {
  if (words.empty())
    return files.str();
  return ("{_alternative \"words:word:(" + words + ")\" \"files:file:" + files +
          "\"}")
      .str();
}

/// The zsh action that completes a value.
static std::string findValue(const Flag &flag) {
  std::string words = join(getWords(flag), " ");
  switch (getValueKind(flag)) {
  case ValueKind::File:
    return findEither(words, "_files");
  case ValueKind::Folder:
    return findEither(words, "_files -/");
  default:
    return words.empty() ? " " : "(" + words + ")";
  }
}

/// The text after a flag in its specification, e.g. ":FORM:(text json none)".
static std::string describeValue(const Flag &flag) {
  if (flag.value.empty())
    return "";
  return (flag.isOptional ? "::" : ":") + escape(flag.value, ":\\") + ":" +
         escape(findValue(flag), ":");
}

/// A flag under one of its names, which excludes the others.
static std::string describe(const Flag &flag, StringRef name) {
  std::string text =
      flag.isRepeatable ? "*" : "(" + join(spellNames(flag), " ") + ")";
  text += name;
  if (!flag.value.empty())
    text += !name.starts_with("--") ? "+" : flag.isOptional ? "=-" : "=";
  return text + "[" + escape(flag.help, "[]\\") + "]" + describeValue(flag);
}

static void printPart(const CompletionPart &part, raw_ostream &os) {
  auto [program, command] = StringRef(part.tool).split(' ');
  StringRef inside = "'\\''";
  if (!command.empty())
    os << "\n"
       << getFunctionName(program) << "_commands+=("
       << quote((command + ":" + part.help).str(), inside) << ")\n";
  os << "\n" << getFunctionName(part.tool) << "() {\n  local -a flags=(\n";
  for (const Flag &flag : part.flags)
    for (StringRef name : spellNames(flag))
      os << "    " << quote(describe(flag, name), inside) << "\n";
  os << "  )\n";
  if (!part.others.empty()) {
    os << "  if [[ $PREFIX == --?* ]]; then\n    flags+=(\n";
    for (StringRef name : part.others)
      os << "      " << quote(name.str(), inside) << "\n";
    os << "    )\n  fi\n";
  }
  os << "  _arguments -S $flags \"$@\"\n}\n";
}

static constexpr StringLiteral tail = R"sh(
@F@_complete() {
  if (( CURRENT == 2 )); then
    [[ $PREFIX == -* ]] || _describe -t commands command @F@_commands
    @F@ @ALONE@
  elif [[ " @COMMANDS@ " == *" $words[2] "* ]]; then
    local command=$words[2]
    shift words
    (( CURRENT-- ))
    @F@_$command '*:file:_files'
  else
    @F@ '*:file:_files'
  fi
}
)sh";

static void printTail(const CompletedProgram &program, raw_ostream &os) {
  std::string alone = program.takesFiles ? "'*:file:_files'" : "";
  os << fillIn(tail, {{"@F@", getFunctionName(program.name)},
                      {"@COMMANDS@", join(program.getCommandNames(), " ")},
                      {"@ALONE@", alone}});
  // A file found by $fpath is the body of the function itself; otherwise the
  // script is sourced and registers the function.
  os << "\nif [[ $funcstack[1] == _" << program.name << " ]]; then\n  "
     << getFunctionName(program.name) << "_complete \"$@\"\nelse\n  compdef "
     << getFunctionName(program.name) << "_complete " << program.name
     << "\nfi\n";
}

const CompletionShell zshShell = {"zsh", printHead, printPart, printTail};

} // namespace mp
