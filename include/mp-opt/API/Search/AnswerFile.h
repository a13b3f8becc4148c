//===- AnswerFile.h - Answers of a check, kept in a file --------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_API_SEARCH_ANSWERFILE_H
#define MPOPT_API_SEARCH_ANSWERFILE_H

#include "mp-opt/Support/Directory.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/Support/Error.h"

#include <optional>
#include <string>

namespace mp {

/// The search whose answers are kept. Answers of another search are refused.
struct SearchIdentity {
  /// "bisect" or "reduce".
  std::string command;
  /// The hashes of the model, and texts of the settings and of the check.
  uint64_t model = 0;
  std::string settings, check;
};

/// Answers by the hashes of the models that were asked about. With a file, each
/// answer is appended by a single write and synced, so that a search that was
/// ended in any way goes on where it was: searches ask the same questions in
/// the same order.
///
/// The file has a line of JSON for the identity and one for each answer. A last
/// line that is not complete is removed.
class AnswerFile {
public:
  /// Opens a file, or makes it; without a name, answers are only kept in
  /// memory. Fails if the file is not such a file, belongs to another search,
  /// or is in use by another process.
  static llvm::Expected<AnswerFile> open(const std::string &path,
                                         const SearchIdentity &identity);

  std::optional<bool> lookup(uint64_t model) const;
  llvm::Error add(uint64_t model, bool passes);
  /// The number of answers that were in the file when it was opened.
  size_t getNumKept() const { return numKept; }

private:
  llvm::Error read(const SearchIdentity &identity);
  llvm::Error readLine(llvm::StringRef line, unsigned number,
                       const SearchIdentity &identity);
  llvm::Error append(llvm::StringRef line);

  std::string path;
  Descriptor file;
  llvm::DenseMap<uint64_t, bool> answers;
  size_t numKept = 0;
};

} // namespace mp

#endif // MPOPT_API_SEARCH_ANSWERFILE_H
