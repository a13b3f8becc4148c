//===- NameRegex.h - Regular expressions for names --------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// All patterns of flags and files are compiled here, after a check that their
// compiled form is small, since llvm::Regex itself has no limit.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_SUPPORT_NAMEREGEX_H
#define MPOPT_SUPPORT_NAMEREGEX_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/Regex.h"

#include <string>
#include <vector>

namespace mp {

/// A regular expression (POSIX, extended) that matches whole names.
class NameRegex {
public:
  /// Fails if the text is not a regular expression, or if it takes too much
  /// memory or time: back references, deep groups, repetitions of repetitions.
  static llvm::Expected<NameRegex> compile(llvm::StringRef text);

  bool matches(llvm::StringRef name) const { return whole.match(name); }

private:
  explicit NameRegex(llvm::Regex whole) : whole(std::move(whole)) {}

  llvm::Regex whole;
};

/// Splits a pattern at bars outside of brackets: `a|b(c|d)` into `a` and
/// `b(c|d)`.
std::vector<std::string> splitAlternatives(llvm::StringRef pattern);

} // namespace mp

#endif // MPOPT_SUPPORT_NAMEREGEX_H
