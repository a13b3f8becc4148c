//===- FlatJSON.cpp - JSON with bounds ------------------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Support/FlatJSON.h"

#include "llvm/ADT/StringSet.h"

#include <algorithm>

using namespace llvm;

namespace mp {

/// The offset after the string that begins at `at`.
static size_t skipString(StringRef text, size_t at) {
  for (++at; at < text.size() && text[at] != '"'; ++at)
    at += text[at] == '\\';
  return std::min(at + 1, text.size());
}

/// Decodes a key like the parser, since escapes allow several spellings.
static std::string getKey(StringRef quoted) {
  if (!quoted.contains('\\'))
    return quoted.str();
  Expected<json::Value> value = json::parse(quoted);
  if (!value)
    consumeError(value.takeError());
  std::optional<StringRef> key = value ? value->getAsString() : std::nullopt;
  return key ? ("\"" + *key + "\"").str() : quoted.str();
}

Expected<json::Value> parseFlatJSON(StringRef text, unsigned maxDepth) {
  // The keys of each open object; empty for arrays.
  std::vector<StringSet<>> levels;
  for (size_t at = 0; at < text.size();) {
    char c = text[at];
    size_t next = c == '"' ? skipString(text, at) : at + 1;
    if (c == '{' || c == '[') {
      if (levels.size() == maxDepth)
        return createStringError("it is nested more than " + Twine(maxDepth) +
                                 " deep");
      levels.emplace_back();
    } else if ((c == '}' || c == ']') && !levels.empty()) {
      levels.pop_back();
    } else if (c == '"' && !levels.empty() &&
               text.substr(next).ltrim(" \t\r\n").starts_with(":")) {
      std::string key = getKey(text.slice(at, next));
      if (!levels.back().insert(key).second)
        return createStringError("it has the key " + key + " twice");
    }
    at = next;
  }
  return json::parse(text);
}

} // namespace mp
