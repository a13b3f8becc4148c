//===- CandidateSearch.h - Questions about candidate models -----*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The common part of searches that ask a check about many variants of a model:
// files of candidates, answers that are known already, the number of runs,
// progress, and the end of a search that the user stops.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_API_SEARCH_CANDIDATESEARCH_H
#define MPOPT_API_SEARCH_CANDIDATESEARCH_H

#include "mp-opt/API/Search/AnswerFile.h"
#include "mp-opt/API/Search/ModelCheck.h"

namespace mp {

/// A folder for temporary files, which is removed with this object.
class TemporaryFolder {
public:
  static llvm::Expected<TemporaryFolder> create();
  TemporaryFolder(TemporaryFolder &&other) : path(std::move(other.path)) {
    other.path.clear();
  }
  ~TemporaryFolder();

  std::string getPath(llvm::StringRef name) const;

private:
  TemporaryFolder() = default;
  std::string path;
};

struct SearchOptions {
  /// The file of AnswerFile; empty for none.
  std::string state;
  uint64_t maxRuns = 1000;
  /// True if the user wants the search to end. May be empty.
  std::function<bool()> isStopped;
  /// Receives a line after each run: "run 3: 12 nodes in fp32: passes". May be
  /// empty.
  std::function<void(const llvm::Twine &line)> onProgress;
};

class CandidateSearch {
public:
  CandidateSearch(SearchOptions options, TemporaryFolder folder,
                  std::unique_ptr<ModelCheck> check)
      : options(std::move(options)), folder(std::move(folder)),
        check(std::move(check)) {}

  /// Opens the file of answers. `model` is the content of the model's file, and
  /// `settings` are all others that change candidates. Must be called first.
  llvm::Error open(llvm::StringRef command, llvm::StringRef model,
                   llvm::StringRef settings);

  /// Lets the check see the unchanged model before any question.
  llvm::Error prepare(const CandidateFiles &unchanged) {
    return check->prepare(unchanged);
  }

  const TemporaryFolder &getFolder() const { return folder; }
  /// Removes the files of the last candidate.
  llvm::Error clear() const;
  /// The files of the next candidate; the caller writes them. There is a data
  /// file if `hasData`.
  CandidateFiles getFiles(bool hasData) const;
  /// Asks about the candidate in `files`, unless the answer is known. `what`
  /// describes it in the line of progress. Absent if the search is over. With
  /// `isRepeated`, a known answer does not count, and the new one is not kept.
  llvm::Expected<std::optional<bool>> ask(const CandidateFiles &files,
                                          const llvm::Twine &what,
                                          bool isRepeated = false);

  bool isStopped() const { return options.isStopped && options.isStopped(); }
  uint64_t getNumRuns() const { return numRuns; }
  size_t getNumKept() const { return answers ? answers->getNumKept() : 0; }
  /// The last answer of the check itself.
  const CheckAnswer &getLastAnswer() const { return last; }

private:
  SearchOptions options;
  TemporaryFolder folder;
  std::unique_ptr<ModelCheck> check;
  std::optional<AnswerFile> answers;
  CheckAnswer last;
  uint64_t numRuns = 0;
};

} // namespace mp

#endif // MPOPT_API_SEARCH_CANDIDATESEARCH_H
