//===- NamePatterns.cpp - Regular expressions for whole names -------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NamePatterns.h"

#include "mp-opt/Support/Nearest.h"

using namespace mlir;

namespace mp {

NamePattern::NamePattern(StringRef text, NameRegex whole)
    : text(text), whole(std::move(whole)),
      alternatives(splitAlternatives(text)) {}

llvm::Expected<NamePattern> NamePattern::parse(StringRef text) {
  llvm::Expected<NameRegex> whole = NameRegex::compile(text);
  if (!whole)
    return whole.takeError();
  return NamePattern(text, std::move(*whole));
}

void NamePattern::warnOfUnused(Operation *place, StringRef label,
                               ArrayRef<StringRef> names) const {
  if (alternatives.size() < 2)
    return;
  for (const std::string &part : alternatives) {
    llvm::Expected<NameRegex> regex = NameRegex::compile(part);
    if (!regex)
      llvm::consumeError(regex.takeError());
    else if (llvm::none_of(
                 names, [&](StringRef name) { return regex->matches(name); }))
      place->emitWarning() << label << " pattern '" << text << "': '" << part
                           << "' matches nothing"
                           << suggestNearest(part, names);
  }
}

} // namespace mp
