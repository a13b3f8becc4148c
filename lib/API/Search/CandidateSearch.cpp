//===- CandidateSearch.cpp - Questions about candidate models -------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/API/Search/CandidateSearch.h"

#include "mp-opt/Support/ContentHash.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace llvm;

namespace mp {

Expected<TemporaryFolder> TemporaryFolder::create() {
  SmallString<128> path;
  if (std::error_code failed = sys::fs::createUniqueDirectory("mp-opt", path))
    return createStringError("cannot make a folder for temporary files: " +
                             failed.message());
  TemporaryFolder folder;
  folder.path = path.str();
  return folder;
}

TemporaryFolder::~TemporaryFolder() {
  if (!path.empty())
    (void)sys::fs::remove_directories(path);
}

std::string TemporaryFolder::getPath(StringRef name) const {
  SmallString<128> full(path);
  sys::path::append(full, name);
  return full.str().str();
}

/// The hash of a file's content; big models are mapped.
static Expected<uint64_t> hashFile(const std::string &path) {
  auto file = MemoryBuffer::getFile(path, /*IsText=*/false,
                                    /*RequiresNullTerminator=*/false);
  if (!file)
    return createStringError(path +
                             ": cannot read it: " + file.getError().message());
  return ContentHash::hashBlock((*file)->getBuffer());
}

Error CandidateSearch::open(StringRef command, StringRef model,
                            StringRef settings) {
  auto opened = AnswerFile::open(options.state,
                                 {command.str(), ContentHash::hashBlock(model),
                                  settings.str(), check->describe()});
  if (!opened)
    return opened.takeError();
  answers = std::move(*opened);
  return clear();
}

Error CandidateSearch::clear() const {
  std::string path = folder.getPath("candidate");
  std::error_code failed = sys::fs::remove_directories(path);
  if (!failed)
    failed = sys::fs::create_directories(path);
  return failed ? createStringError(path + ": " + failed.message())
                : Error::success();
}

CandidateFiles CandidateSearch::getFiles(bool hasData) const {
  return {folder.getPath("candidate/model.onnx"),
          hasData ? folder.getPath("candidate/data.npz") : ""};
}

Expected<std::optional<bool>> CandidateSearch::ask(const CandidateFiles &files,
                                                   const Twine &what,
                                                   bool isRepeated) {
  Expected<uint64_t> hash = hashFile(files.model);
  if (!hash)
    return hash.takeError();
  if (!files.data.empty()) {
    Expected<uint64_t> data = hashFile(files.data);
    if (!data)
      return data.takeError();
    hash = ContentHash::combine({*hash, *data});
  }
  if (auto known = answers->lookup(*hash); known && !isRepeated)
    return known;
  if (isStopped() || numRuns >= options.maxRuns)
    return std::nullopt;
  auto answer = check->ask(files);
  if (!answer)
    return answer.takeError();
  // A command that was interrupted together with this program has said nothing
  // about the model.
  if (!*answer || isStopped())
    return std::nullopt;
  last = std::move(**answer);
  ++numRuns;
  if (options.onProgress)
    options.onProgress("run " + Twine(numRuns) + ": " + what + ": " +
                       (last.passes ? "passes" : "fails") + " (" + last.reason +
                       ")");
  if (!isRepeated)
    if (Error failed = answers->add(*hash, last.passes))
      return failed;
  return last.passes;
}

} // namespace mp
