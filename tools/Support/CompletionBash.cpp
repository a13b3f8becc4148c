//===- CompletionBash.cpp - Completion in bash ----------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A part is a shell function that knows flags: it sets `flags` and `others`,
// and for the flag in $1 it sets `kind`, `words`, and `needs` if the flag needs
// a value. The enclosing function determines what the cursor is at. If nothing
// else is offered, readline completes files, since it handles quotes and "~".
//
//===----------------------------------------------------------------------===//

#include "CompletionShells.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace llvm;

namespace mp {

static void printHead(const CompletedProgram &program, raw_ostream &os) {
  os << "# What bash completes for " << program.name << "; written by\n#   "
     << program.name << " --print-completion=bash\n"
     << "# shellcheck shell=bash disable=SC2034\n";
}

static StringRef getKindName(ValueKind kind) {
  return kind == ValueKind::File     ? "files"
         : kind == ValueKind::Folder ? "directories"
                                     : "text";
}

static void printPart(const CompletionPart &part, raw_ostream &os) {
  os << "\n" << getFunctionName(part.tool) << "() {\n  flags=(";
  for (const Flag &flag : part.flags)
    for (StringRef name : spellNames(flag)) {
      if (flag.value.empty() || flag.isOptional || !name.starts_with("--"))
        os << "\n    " << name;
      if (!flag.value.empty() && name.starts_with("--"))
        os << "\n    " << name << "=";
    }
  os << ")\n  others=(";
  for (StringRef name : part.others)
    os << "\n    " << name;
  os << ")\n  case $1 in\n";
  for (const Flag &flag : part.flags) {
    if (flag.value.empty())
      continue;
    os << "  " << join(spellNames(flag), " | ")
       << ")\n    kind=" << getKindName(getValueKind(flag));
    if (!flag.isOptional)
      os << " needs=yes";
    if (!getWords(flag).empty())
      os << " words=(" << join(getWords(flag), " ") << ")";
    os << "\n    ;;\n";
  }
  os << "  esac\n}\n";
}

// @F@ is the name of the function for the program @P@; @COMMANDS@ are its
// commands, @ALONE@ is the completion without a command.
static constexpr StringLiteral tail = R"sh(
# What may stand in the place of $1: those of $2 ... that begin like it.
@F@_reply() {
  local word
  for word in "${@:2}"; do
    [[ $word == "$1"* ]] || continue
    word=$before$word
    COMPREPLY+=("${word#"$kept"}")
  done
}

@F@_complete() {
  local command=@F@ kind=text needs='' place word flag value before='' kept file
  local -a flags=() others=() words=() commands=(@COMMANDS@)
  COMPREPLY=()
  # Readline makes words of their own of "=" and ":".
  place=$COMP_CWORD word=${COMP_WORDS[COMP_CWORD]}
  while ((place > 1)) && [[ ${COMP_WORDS[place]} == [=:]* ||
    ${COMP_WORDS[place - 1]} == *[=:] ]]; do
    place=$((place - 1)) word=${COMP_WORDS[place]}$word
  done
  # What readline keeps of the word; a reply is for the rest.
  kept=${word%"${COMP_WORDS[COMP_CWORD]}"}
  [[ ${COMP_WORDS[COMP_CWORD]} != [=:]* ]] || kept=$word
  if ((place > 1)) && [[ " ${commands[*]} " == *" ${COMP_WORDS[1]} "* ]]; then
    command=@F@_${COMP_WORDS[1]}
  fi
  if [[ $word == -*=* ]]; then
    flag=${word%%=*} value=${word#*=} before=$flag=
  else
    flag=${COMP_WORDS[place - 1]} value=$word
  fi
  "$command" "$flag"
  if [[ $before || $needs ]]; then
    @F@_reply "$value" "${words[@]}"
  elif [[ $word == -* ]]; then
    kind=text
    @F@_reply "$word" "${flags[@]}"
    ((${#word} < 3)) || @F@_reply "$word" "${others[@]}"
  else
    kind=files
    if ((place == 1)); then
      kind=@ALONE@
      @F@_reply "$word" "${commands[@]}"
    fi
  fi
  if [[ $kind != text && ${#COMPREPLY[@]} -gt 0 ]]; then
    compopt -o filenames 2>/dev/null
    while IFS= read -r file; do
      @F@_reply "$value" "$file"
    done < <(compgen -"${kind:0:1}" -- "$value")
  fi
  case $kind in
  text) compopt +o default 2>/dev/null ;;
  directories) compopt +o default -o dirnames 2>/dev/null ;;
  esac
  if [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *= ]]; then
    compopt -o nospace 2>/dev/null
  fi
  return 0
}

complete -o default -F @F@_complete @P@
)sh";

static void printTail(const CompletedProgram &program, raw_ostream &os) {
  os << fillIn(tail, {{"@F@", getFunctionName(program.name)},
                      {"@P@", program.name.str()},
                      {"@COMMANDS@", join(program.getCommandNames(), " ")},
                      {"@ALONE@", program.takesFiles ? "files" : "text"}});
}

const CompletionShell bashShell = {"bash", printHead, printPart, printTail};

} // namespace mp
