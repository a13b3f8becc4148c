//===- NameRegex.cpp - Regular expressions for names ----------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// LLVM's compiler of patterns is recursive in groups and unrolls repetitions,
// so that 24 characters may take gigabytes. The check in this file counts the
// states to which a pattern would be unrolled.
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Support/NameRegex.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"

#include <algorithm>

using namespace llvm;

namespace mp {

static constexpr size_t maxGroups = 100;
/// The limit of states of repetitions; each takes about 64 bytes.
static constexpr uint64_t maxStates = 100000;

/// The offset after a bracket expression that begins at `at`. Brackets at its
/// beginning are members, and classes such as `[:alpha:]` contain brackets,
/// too.
static size_t skipSet(StringRef text, size_t at) {
  ++at;
  at += text.substr(at).starts_with("^");
  at += text.substr(at).starts_with("]");
  while (at < text.size() && text[at] != ']') {
    StringRef rest = text.substr(at);
    size_t end = StringRef::npos;
    for (StringRef kind : {":", ".", "="})
      if (rest.starts_with(("[" + kind).str()))
        end = rest.find((kind + "]").str(), 2);
    at += end == StringRef::npos ? 1 : end + 2;
  }
  return std::min(at + 1, text.size());
}

/// The maximum count allowed by the bounds after a `{`.
static uint64_t getMaxCount(StringRef text) {
  auto [low, high] = text.split('}').first.split(',');
  unsigned count = 1, other = 1;
  low.getAsInteger(10, count);
  high.getAsInteger(10, other);
  return std::max({count, other, 1u});
}

/// Fails if the compiled form of the pattern would be big or slow.
static Error checkStates(StringRef text) {
  // The number of states of each open group, and of the last element.
  SmallVector<uint64_t> groups = {0};
  uint64_t last = 0;
  for (size_t at = 0; at < text.size();) {
    char c = text[at];
    size_t next = c == '[' ? skipSet(text, at) : at + 1;
    if (c == '\\' && next < text.size() && isDigit(text[next++]))
      return createStringError("back references are not supported");
    if (c == '(') {
      if (groups.size() > maxGroups)
        return createStringError("it has more than " + Twine(maxGroups) +
                                 " groups in groups");
      groups.push_back(0);
    } else if (c == ')' && groups.size() > 1) {
      last = groups.pop_back_val();
      groups.back() += last;
    } else if (c == '{') {
      uint64_t count = getMaxCount(text.substr(next));
      groups.back() += last * (count - 1);
      last *= count;
      if (groups.back() > maxStates)
        return createStringError("it repeats too much");
    } else if (c != '*' && c != '+' && c != '?') {
      last = 1;
      ++groups.back();
    }
    at = next;
  }
  return Error::success();
}

Expected<NameRegex> NameRegex::compile(StringRef text) {
  if (text.empty())
    return createStringError("it is empty");
  if (Error failed = checkStates(text))
    return failed;
  std::string problem;
  // Check the text without parentheses around it, which would hide the error in
  // "a)(b".
  if (!llvm::Regex(text).isValid(problem))
    return createStringError(problem);
  return NameRegex(llvm::Regex(("^(" + text + ")$").str()));
}

std::vector<std::string> splitAlternatives(StringRef pattern) {
  std::vector<std::string> parts(1);
  unsigned depth = 0;
  for (size_t at = 0; at < pattern.size();) {
    char c = pattern[at];
    size_t next = c == '['    ? skipSet(pattern, at)
                  : c == '\\' ? std::min(at + 2, pattern.size())
                              : at + 1;
    depth += c == '(';
    depth -= c == ')' && depth;
    if (c == '|' && !depth)
      parts.emplace_back();
    else
      parts.back() += pattern.substr(at, next - at);
    at = next;
  }
  return parts;
}

} // namespace mp
