//===- NamePatterns.cpp - Regular expressions for whole names -------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NamePatterns.h"

#include "mp-opt/Precision/Policy/NodeOverrides.h"
#include "mp-opt/Support/Nearest.h"

using namespace mlir;

namespace mp {

static llvm::Regex makeRegex(StringRef text) {
  return llvm::Regex(("^(" + text + ")$").str());
}

/// The parts between the bars that are in no bracket.
static std::vector<std::string> splitAlternatives(StringRef text) {
  std::vector<std::string> parts(1);
  unsigned depth = 0;
  bool isInSet = false;
  for (size_t index = 0; index < text.size(); ++index) {
    char letter = text[index];
    if (letter == '\\' && index + 1 < text.size()) {
      parts.back() += text.substr(index++, 2);
      continue;
    }
    isInSet = isInSet ? letter != ']' : letter == '[';
    if (!isInSet) {
      depth += letter == '(';
      depth -= letter == ')' && depth;
    }
    if (letter == '|' && !isInSet && !depth)
      parts.emplace_back();
    else
      parts.back() += letter;
  }
  return parts;
}

NamePattern::NamePattern(StringRef text)
    : text(text), whole(makeRegex(text)),
      alternatives(splitAlternatives(text)) {}

llvm::Expected<NamePattern> NamePattern::parse(StringRef text) {
  std::string problem;
  if (!llvm::Regex(text).isValid(problem))
    return llvm::createStringError(problem);
  if (llvm::Error wrong = checkRegex(text))
    return wrong;
  return NamePattern(text);
}

void NamePattern::warnOfUnused(Operation *place, StringRef label,
                               ArrayRef<StringRef> names) const {
  if (alternatives.size() < 2)
    return;
  for (const std::string &part : alternatives) {
    llvm::Regex regex = makeRegex(part);
    if (regex.isValid() &&
        llvm::none_of(names, [&](StringRef name) { return regex.match(name); }))
      place->emitWarning() << label << " pattern '" << text << "': '" << part
                           << "' matches nothing"
                           << suggestNearest(part, names);
  }
}

} // namespace mp
