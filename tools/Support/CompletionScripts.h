//===- CompletionScripts.h - Scripts of each shell --------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The scripts run `PROGRAM --complete` (Completion.h). @P@ is the name of the
// program. The program that runs is the one on the command line.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_TOOLS_SUPPORT_COMPLETIONSCRIPTS_H
#define MPOPT_TOOLS_SUPPORT_COMPLETIONSCRIPTS_H

#include "llvm/ADT/StringRef.h"

namespace mp {

// Readline makes "=" and ":" separate words; `kept` is the part of the word
// that it keeps. If there are only paths, readline completes them, since it
// handles quotes and "~".
inline constexpr llvm::StringLiteral bashScript =
    R"sh(# Completion of @P@ in bash; written by
#   @P@ --print-completion=bash
# shellcheck shell=bash
_@P@() {
  local i word part paths='' prefix='' kept typed
  local -a words=()
  COMPREPLY=()
  for ((i = 1; i <= COMP_CWORD; i++)); do
    part=${COMP_WORDS[i]}
    if ((i > 1)) && [[ $part == [=:]* || ${COMP_WORDS[i - 1]} == *[=:] ]]; then
      words[-1]+=$part
    else
      words+=("$part")
    fi
  done
  word=${words[-1]} kept=${word%"$part"}
  [[ $part != [=:]* ]] || kept=$word
  {
    IFS=$'\t' read -r paths prefix
    typed=${word#"$prefix"}
    while IFS=$'\t' read -r part _; do
      [[ $part == "$typed"* ]] || continue
      part=$prefix$part
      COMPREPLY+=("${part#"$kept"}")
    done
    if [[ $paths == f* && ${#COMPREPLY[@]} -gt 0 ]]; then
      compopt -o filenames 2>/dev/null
      [[ $paths == files ]] || paths=directories
      while IFS= read -r part; do
        part=$prefix$part
        COMPREPLY+=("${part#"$kept"}")
      done < <(compgen -"${paths:0:1}" -- "$typed")
    fi
  } < <("${1/#'~'\//$HOME/}" --complete "${words[@]}" 2>/dev/null)
  case $paths in
  none) compopt +o default 2>/dev/null ;;
  folders | directories) compopt +o default -o dirnames 2>/dev/null ;;
  esac
  if [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *= ]]; then
    compopt -o nospace 2>/dev/null
  fi
}
complete -o default -F _@P@ @P@
)sh";

// A file found by $fpath is the body of the function itself; otherwise the
// script is sourced and registers the function.
inline constexpr llvm::StringLiteral zshScript =
    R"sh(#compdef @P@
# Completion of @P@ in zsh; written by
#   @P@ --print-completion=zsh
_@P@() {
  local -a lines flags others
  local line word paths prefix
  lines=("${(@f)$(${~words[1]} --complete "${(@)words[2,CURRENT-1]}" "$PREFIX" \
    2>/dev/null)}")
  paths=${lines[1]%%$'\t'*} prefix=${lines[1]#*$'\t'}
  for line in "${(@)lines[2,-1]}"; do
    word=${line%%$'\t'*}
    line=${word//:/\\:}:${${line#$word}#$'\t'}
    if [[ $word == *= ]]; then
      flags+=("$line")
    else
      others+=("$line")
    fi
  done
  compset -P "${(b)prefix}"
  (( ! $#others )) || _describe word others
  (( ! $#flags )) || _describe word flags -S ''
  case $paths in
  files) _files ;;
  folders) _files -/ ;;
  esac
}
if [[ $funcstack[1] == _@P@ ]]; then
  _@P@ "$@"
else
  compdef _@P@ @P@
fi
)sh";

inline constexpr llvm::StringLiteral fishScript =
    R"sh(# Completion of @P@ in fish; written by
#   @P@ --print-completion=fish
function _@P@
    set -l words (commandline -opc) (commandline -ct)
    set -l lines ($words[1] --complete $words[2..-1] 2>/dev/null)
    set -l paths (string split \t -- $lines[1])
    printf '%s\n' $paths[2]$lines[2..-1]
    set -l typed (string sub -s (math 1 + (string length -- "$paths[2]")) \
        -- $words[-1])
    switch $paths[1]
        case files
            printf '%s\n' $paths[2](__fish_complete_path "$typed")
        case folders
            printf '%s\n' $paths[2](__fish_complete_directories "$typed")
    end
end
complete -c @P@ -f -a '(_@P@)'
)sh";

} // namespace mp

#endif // MPOPT_TOOLS_SUPPORT_COMPLETIONSCRIPTS_H
