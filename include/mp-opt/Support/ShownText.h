//===- ShownText.h - Texts of files as messages show them -------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Names in models, data files and policies may contain anything: terminal
// control sequences, line breaks that imitate messages, and marks that reverse
// the order of letters. Messages and tables are printed with these functions.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_SUPPORT_SHOWNTEXT_H
#define MPOPT_SUPPORT_SHOWNTEXT_H

#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/raw_ostream.h"

#include <string>

namespace mp {

/// The text on one line, in UTF-8, without characters that control a terminal
/// or the direction of writing: `\n`, `\x1b`, `\u202e` replace these, and
/// `\xff` replaces a byte that is not UTF-8. All others stay as they are,
/// backslashes too, so that a text that was escaped stays the same.
std::string escapeText(const llvm::Twine &text);

/// Escapes each line of a table before writing it to another stream. Names must
/// be escaped before, since a line break that is written here ends a line.
class EscapingStream : public llvm::raw_ostream {
public:
  explicit EscapingStream(llvm::raw_ostream &to)
      : llvm::raw_ostream(/*unbuffered=*/true), to(to) {}
  ~EscapingStream() override { to << escapeText(line); }

  /// For streams that live only during one call.
  llvm::raw_ostream &get() { return *this; }

private:
  void write_impl(const char *data, size_t size) override;
  uint64_t current_pos() const override { return to.tell() + line.size(); }

  llvm::raw_ostream &to;
  /// The current incomplete line.
  std::string line;
};

} // namespace mp

#endif // MPOPT_SUPPORT_SHOWNTEXT_H
