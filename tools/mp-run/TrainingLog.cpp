//===- TrainingLog.cpp - What a training run tells ------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TrainingLog.h"

#include "mp-opt/API/TensorText.h"
#include "mp-opt/Data/DataFiles.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Process.h"

using namespace llvm;
namespace fs = llvm::sys::fs;

namespace mp {

using Clock = std::chrono::steady_clock;

TrainingLog::TrainingLog(uint64_t total, bool isQuiet)
    : total(total), isTerminal(sys::Process::StandardErrIsDisplayed()),
      isQuiet(isQuiet), start(Clock::now()) {}

double TrainingLog::getSeconds() const {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// The lines of `text` that tell of steps up to `step`.
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

Error TrainingLog::open(StringRef name, uint64_t step) {
  path = name.str();
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
  std::error_code error;
  file = std::make_unique<raw_fd_ostream>(path, error, fs::OF_Append);
  if (error)
    return createStringError("cannot write " + path + ": " + error.message());
  return Error::success();
}

Error TrainingLog::add(const StepRecord &record) {
  ++made;
  if (file) {
    json::OStream json(*file);
    json.object([&] {
      json.attribute("step", record.step);
      json.attribute("epoch", record.epoch);
      json.attribute("loss", toJSON(record.loss));
      if (!record.parts.empty())
        json.attributeObject("losses", [&] {
          for (const auto &[name, loss] : record.parts)
            json.attribute(name, toJSON(loss));
        });
      if (record.rate)
        json.attribute("lr", toJSON(*record.rate));
      if (record.scale)
        json.attribute("scale", toJSON(*record.scale));
      if (record.skipped)
        json.attribute("skipped", toJSON(*record.skipped));
    });
    *file << "\n";
    // Whole lines, whatever happens to the process.
    file->flush();
    if (file->has_error()) {
      std::error_code error = file->error();
      file->clear_error();
      return createStringError("cannot write " + path + ": " + error.message());
    }
  }
  show(record);
  return Error::success();
}

static std::string describe(const StepRecord &record, double rate) {
  std::string text;
  raw_string_ostream os(text);
  os << "loss " << formatShort(record.loss);
  if (record.scale)
    os << "  scale " << formatShort(*record.scale);
  if (record.skipped && *record.skipped > 0)
    os << "  skipped " << formatShort(*record.skipped);
  os << "  " << format("%.3g", rate) << " steps/s";
  return text;
}

void TrainingLog::show(const StepRecord &record) {
  if (isQuiet)
    return;
  bool isLast = record.step == total;
  double rate = double(made) / std::max(getSeconds(), 1e-9);
  if (!isTerminal) {
    // Ten lines or so a run.
    if (uint64_t every = std::max<uint64_t>(total / 10, 1);
        isLast || record.step % every == 0)
      errs() << "step " << record.step << "/" << total << "  "
             << describe(record, rate) << "\n";
    return;
  }
  if (!isLast && hasBar &&
      Clock::now() - shown < std::chrono::milliseconds(100))
    return;
  constexpr uint64_t width = 24;
  uint64_t filled = record.step * width / std::max<uint64_t>(total, 1);
  errs() << "\r\033[K[" << std::string(filled, '=')
         << std::string(width - std::min(filled, width), ' ') << "] "
         << record.step << "/" << total << "  " << describe(record, rate);
  hasBar = true;
  shown = Clock::now();
}

void TrainingLog::endBar() {
  if (hasBar)
    errs() << "\n";
  hasBar = false;
}

void TrainingLog::note(const Twine &text) {
  endBar();
  errs() << "mp-run train: " << text << "\n";
}

} // namespace mp
