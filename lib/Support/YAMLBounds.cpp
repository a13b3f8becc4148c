//===- YAMLBounds.cpp - Checks of YAML before it is parsed ----------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// LLVM's parser recurses for each comma that follows another one, and for each
// mark of a document's end. Two checks prevent that. The first one ignores
// context, so that no text can mislead it: it counts commas and marks with only
// blanks and comments between them. The second one follows quotes, comments and
// brackets by YAML's rules, and finds empty entries.
//
//===----------------------------------------------------------------------===//

#include "YAMLBounds.h"

#include "mp-opt/Support/ConfigFile.h"

#include "llvm/ADT/SmallVector.h"

#include <algorithm>

using namespace llvm;

namespace mp {

static constexpr unsigned maxRun = 100;

static bool isBlank(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/// The offset of the line's end.
static size_t findLineEnd(StringRef text, size_t at) {
  return std::min(text.find_first_of("\r\n", at), text.size());
}

/// Fails for many commas, or many ends of documents, in a row.
static Error checkRuns(StringRef text, StringRef file) {
  unsigned commas = 0, ends = 0, line = 1;
  for (size_t at = 0; at < text.size(); ++at) {
    char c = text[at];
    bool startsLine = at == 0 || text[at - 1] == '\n' || text[at - 1] == '\r';
    line += c == '\n';
    if (c == '#')
      at = findLineEnd(text, at) - 1;
    else if (c == ',')
      ++commas;
    else if (!isBlank(c))
      commas = 0;
    ends += startsLine && text.substr(at).starts_with("...");
    if (commas > maxRun)
      return errorAt(file, line,
                     "more than " + Twine(maxRun) + " commas in a row");
    if (ends > maxRun)
      return errorAt(file, line,
                     "more than " + Twine(maxRun) + " ends of documents");
  }
  return Error::success();
}

namespace {
/// Scans a text token by token.
class Scanner {
public:
  Scanner(StringRef text, StringRef file, unsigned maxDepth)
      : text(text), file(file), maxDepth(maxDepth) {}

  Error run();

private:
  char peek(size_t offset = 0) const {
    return at + offset < text.size() ? text[at + offset] : '\0';
  }
  bool isAtBlank(size_t offset) const {
    return at + offset >= text.size() || isBlank(text[at + offset]);
  }
  void advanceTo(size_t end);
  void skipQuoted();
  void skipBlock();
  void skipPlain();
  Error readBracket();
  unsigned getLineIndent() const;

  StringRef text, file;
  unsigned maxDepth;
  size_t at = 0;
  unsigned line = 1;
  /// The open brackets, and if an entry may end here.
  SmallVector<char> open;
  bool hasEntry = false;
};
} // namespace

void Scanner::advanceTo(size_t end) {
  end = std::min(end, text.size());
  line += text.slice(at, end).count('\n');
  at = end;
}

void Scanner::skipQuoted() {
  char quote = peek();
  size_t end = at + 1;
  while (end < text.size() && text[end] != quote)
    end += text[end] == '\\' && quote == '"' ? 2 : 1;
  advanceTo(end + 1);
}

/// The column of the key or entry to which the current token belongs.
unsigned Scanner::getLineIndent() const {
  size_t begin = text.take_front(at).find_last_of('\n') + 1;
  size_t place = begin, entry = begin;
  while (place < at && (text[place] == ' ' || text[place] == '-')) {
    if (text[place] == '-')
      entry = place;
    ++place;
  }
  return (place == at ? entry : place) - begin;
}

/// Skips the lines of a block scalar, which begins here with `|` or `>`: lines
/// that are indented further than the key, or blank.
void Scanner::skipBlock() {
  unsigned indent = getLineIndent();
  bool isAlone = at == 0 || text[at - 1] == '\n';
  advanceTo(findLineEnd(text, at));
  while (at < text.size()) {
    StringRef rest = text.substr(at + 1);
    StringRef head = rest.take_until([](char c) { return c == '\n'; });
    StringRef content = head.ltrim(" \t\r");
    if (!content.empty() && !isAlone && head.size() - content.size() <= indent)
      return;
    advanceTo(at + 1 + head.size());
  }
}

/// Skips an unquoted scalar, at most to the end of its line.
void Scanner::skipPlain() {
  size_t end = at;
  for (; end < text.size() && text[end] != '\n' && text[end] != '\r'; ++end) {
    StringRef next = text.substr(end + 1, 1);
    bool endsToken = next.empty() || isBlank(next[0]);
    if (!open.empty() && StringRef(",[]{}").contains(text[end]))
      break;
    if (text[end] == ':' &&
        (endsToken || (!open.empty() && StringRef(",[]{}").contains(next[0]))))
      break;
    if (text[end] == '#' && end > at && isBlank(text[end - 1]))
      break;
  }
  advanceTo(std::max(end, at + 1));
}

Error Scanner::readBracket() {
  char c = peek();
  if (c == '[' || c == '{') {
    if (open.size() == maxDepth)
      return errorAt(file, line,
                     "nested more than " + Twine(maxDepth) + " deep");
    open.push_back(c);
    hasEntry = false;
  } else if (c == ',') {
    if (!hasEntry)
      return errorAt(file, line,
                     "an entry of the " +
                         Twine(open.back() == '[' ? "list" : "map") +
                         " is empty: nothing is between its comma and what "
                         "precedes it");
    hasEntry = false;
  } else {
    open.pop_back();
    hasEntry = true;
  }
  advanceTo(at + 1);
  return Error::success();
}

Error Scanner::run() {
  while (at < text.size()) {
    char c = peek();
    bool isInBrackets = !open.empty();
    if (isBlank(c)) {
      advanceTo(at + 1);
    } else if (c == '#') {
      advanceTo(findLineEnd(text, at));
    } else if (c == '[' || c == '{' ||
               (isInBrackets && StringRef(",]}").contains(c))) {
      if (Error failed = readBracket())
        return failed;
    } else if (!isInBrackets && (c == '|' || c == '>')) {
      skipBlock();
    } else if ((StringRef("-?:").contains(c) && isAtBlank(1)) ||
               (isInBrackets && c == ':')) {
      hasEntry = true;
      advanceTo(at + 1);
    } else {
      hasEntry = true;
      if (c == '"' || c == '\'')
        skipQuoted();
      else
        skipPlain();
    }
  }
  return Error::success();
}

Error checkYAMLBounds(StringRef text, StringRef file, unsigned maxDepth) {
  if (Error failed = checkRuns(text, file))
    return failed;
  return Scanner(text, file, maxDepth).run();
}

} // namespace mp
