//===- Findings.h - What a unit test found wrong ----------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_TEST_UNIT_FINDINGS_H
#define MPOPT_TEST_UNIT_FINDINGS_H

#include "mp-opt/API/Model/Error.h"

#include "llvm/Support/raw_ostream.h"

#include <optional>

namespace mp {

/// Counts and prints failures.
class Findings {
public:
  void expect(bool isGood, const llvm::Twine &what) {
    if (isGood)
      return;
    ++count;
    llvm::errs() << what << "\n";
  }
  /// A value that there should be.
  template <typename T> std::optional<T> get(llvm::Expected<T> value) {
    if (value)
      return std::move(*value);
    expect(false, toString(value.takeError()));
    return std::nullopt;
  }
  /// An error of this kind, with `text` in it.
  void expectError(llvm::Error error, ErrorKind kind, llvm::StringRef text,
                   bool isReported = false) {
    bool hasFailed = bool(error);
    ErrorDetails details = takeDetails(std::move(error));
    expect(hasFailed && details.kind == kind &&
               llvm::StringRef(details.text).contains(text) &&
               details.isReported == isReported,
           "expected an error with '" + text + "', found '" + details.text +
               "'");
  }
  int getExitCode() const { return count ? 1 : 0; }

private:
  unsigned count = 0;
};

} // namespace mp

#endif // MPOPT_TEST_UNIT_FINDINGS_H
