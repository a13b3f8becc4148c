//===- TrainingLog.cpp - A file with a line for each step -----------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/API/Train/TrainingLog.h"

#include "mp-opt/Data/DataFiles.h"
#include "mp-opt/Support/FlatJSON.h"

#include "llvm/Support/FileSystem.h"

using namespace llvm;
namespace fs = llvm::sys::fs;

namespace mp {

/// The lines of `text` for steps up to `step`.
static std::string keepSteps(StringRef text, uint64_t step) {
  std::string kept;
  while (!text.empty()) {
    auto [line, rest] = text.split('\n');
    bool isWhole = line.size() < text.size();
    text = rest;
    Expected<json::Value> value = parseFlatJSON(line, /*maxDepth=*/2);
    if (!value) {
      consumeError(value.takeError());
      continue;
    }
    const json::Object *object = value->getAsObject();
    std::optional<int64_t> number =
        object ? object->getInteger("step") : std::nullopt;
    if (isWhole && number && uint64_t(*number) <= step)
      kept += (line + "\n").str();
  }
  return kept;
}

Expected<TrainingLog> TrainingLog::open(StringRef path, uint64_t step) {
  std::string kept;
  if (step && fs::exists(path)) {
    auto old = MemoryBuffer::getFile(path);
    if (!old)
      return createStringError(path +
                               ": cannot read it: " + old.getError().message());
    kept = keepSteps((*old)->getBuffer(), step);
  }
  auto start = AtomicFile::create(path);
  if (!start)
    return start.takeError();
  (*start)->os() << kept;
  if (Error failed = (*start)->finish())
    return failed;
  if (Error failed = (*start)->commit())
    return failed;
  TrainingLog log;
  log.path = path.str();
  std::error_code error;
  log.file = std::make_unique<raw_fd_ostream>(path, error, fs::OF_Append);
  if (error)
    return createStringError("cannot write " + path + ": " + error.message());
  return log;
}

Error TrainingLog::add(const StepRecord &record) {
  json::OStream json(*file);
  record.printJSON(json);
  *file << "\n";
  // Flush so that lines are complete even if the process is killed.
  file->flush();
  if (!file->has_error())
    return Error::success();
  std::error_code error = file->error();
  file->clear_error();
  return createStringError("cannot write " + path + ": " + error.message());
}

} // namespace mp
