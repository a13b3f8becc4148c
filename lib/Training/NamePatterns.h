//===- NamePatterns.h - Regular expressions for whole names -----*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_TRAINING_NAMEPATTERNS_H
#define MPOPT_LIB_TRAINING_NAMEPATTERNS_H

#include "mp-opt/Support/NameRegex.h"

#include "mlir/IR/Operation.h"

#include <vector>

namespace mp {

/// A regular expression of the user, and its alternatives.
class NamePattern {
public:
  /// Fails if the text is not a regular expression, or takes too long to match.
  static llvm::Expected<NamePattern> parse(llvm::StringRef text);

  bool matches(llvm::StringRef name) const { return whole.matches(name); }

  /// Warns, at `place`, of each alternative that matches none of `names`;
  /// `label` is the user's name of the list.
  void warnOfUnused(mlir::Operation *place, llvm::StringRef label,
                    llvm::ArrayRef<llvm::StringRef> names) const;

private:
  NamePattern(llvm::StringRef text, NameRegex whole);

  std::string text;
  NameRegex whole;
  /// `a` and `b(c|d)` for `a|b(c|d)`; empty if there is only one.
  std::vector<std::string> alternatives;
};

} // namespace mp

#endif // MPOPT_LIB_TRAINING_NAMEPATTERNS_H
