//===- TrainingProgress.cpp - Progress of a training run ------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/API/Train/TrainingProgress.h"

#include "mp-opt/API/Model/TensorText.h"

#include "llvm/Support/Format.h"
#include "llvm/Support/MathExtras.h"

#include <cmath>

using namespace llvm;

namespace mp {

static double getSecondsSince(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
      .count();
}

void RecentRate::add(double seconds) {
  constexpr double memory = 10;
  double kept = std::exp(-seconds / memory);
  events = events * kept + 1;
  time = time * kept + seconds;
}

TrainingProgress::TrainingProgress(raw_ostream &os, ProgressOptions given)
    : os(os), options(std::move(given)), start(Clock::now()), last(start) {}

double TrainingProgress::getSeconds() const { return getSecondsSince(start); }

/// "0:07", "1:02:03".
static std::string formatTime(double seconds) {
  std::string text;
  raw_string_ostream os(text);
  auto whole = uint64_t(std::min(std::max(seconds, 0.0), 1e9) + 0.5);
  if (whole >= 3600)
    os << whole / 3600 << ":" << format("%02u", unsigned(whole / 60 % 60));
  else
    os << whole / 60;
  os << ":" << format("%02u", unsigned(whole % 60));
  return text;
}

uint64_t TrainingProgress::getEpochs() const {
  return divideCeil(options.steps, options.stepsPerEpoch);
}

bool TrainingProgress::isEpochEnd(const StepRecord &record) const {
  return record.step % options.stepsPerEpoch == 0 ||
         record.step == options.steps;
}

bool TrainingProgress::isLineDue(const StepRecord &record) const {
  if (record.step == options.steps)
    return true;
  if (!options.isBar)
    return record.step % std::max<uint64_t>(options.steps / 10, 1) == 0 ||
           record.validation;
  // Print a line per epoch above the bar, unless there are too many epochs.
  constexpr uint64_t maxLines = 100;
  uint64_t every = divideCeil(getEpochs(), maxLines);
  return isEpochEnd(record) && (record.epoch + 1) % every == 0;
}

std::string TrainingProgress::describe(const StepRecord &record,
                                       std::optional<double> validation) const {
  std::string text;
  raw_string_ostream os(text);
  os << "loss " << formatShort(record.epochLoss);
  if (validation)
    os << "  validation " << formatShort(*validation);
  if (record.scale)
    os << "  scale " << formatShort(*record.scale);
  if (record.skipped && *record.skipped > 0)
    os << "  skipped " << formatShort(*record.skipped);
  os << "  " << describeSpeed(rate.get(), options.rows);
  return text;
}

void TrainingProgress::show(const StepRecord &record) {
  rate.add(record.seconds);
  progress.add(getSecondsSince(last));
  last = Clock::now();
  if (record.validation)
    validation = record.validation;
  if (isLineDue(record))
    showLine(record);
  else if (options.isBar)
    showBar(record);
}

void TrainingProgress::showLine(const StepRecord &record) {
  if (hasBar)
    os << "\r\033[K";
  hasBar = false;
  os << "epoch " << record.epoch + 1 << "/" << getEpochs() << "  step "
     << record.step << "/" << options.steps << "  "
     << describe(record, record.validation);
  double left = double(options.steps - record.step);
  if (left > 0)
    os << "  " << formatTime(left / std::max(progress.get(), 1e-9)) << " left";
  else
    os << "  " << formatTime(getSeconds());
  os << "\n";
  shown = Clock::now();
}

void TrainingProgress::showBar(const StepRecord &record) {
  if (Clock::now() - shown < std::chrono::milliseconds(100))
    return;
  std::string before = "epoch " + std::to_string(record.epoch + 1) + "/" +
                       std::to_string(getEpochs()) + " ";
  uint64_t done = record.step - record.epoch * options.stepsPerEpoch;
  uint64_t count =
      std::min(options.stepsPerEpoch,
               options.steps - record.epoch * options.stepsPerEpoch);
  double left = double(options.steps - record.step);
  std::string after = " " + std::to_string(done) + "/" + std::to_string(count) +
                      "  " + formatTime(left / std::max(progress.get(), 1e-9)) +
                      " left  " + describe(record, validation);
  // A line that is wider than the terminal cannot be overwritten.
  unsigned columns = options.getColumns ? options.getColumns() : 0;
  uint64_t room = columns ? columns - 1 : 100;
  constexpr uint64_t widest = 24, brackets = 2;
  uint64_t taken = before.size() + after.size() + brackets;
  uint64_t width = room > taken ? std::min(room - taken, widest) : 0;
  os << "\r\033[K";
  if (width) {
    uint64_t filled = done * width / std::max<uint64_t>(count, 1);
    os << before << "[" << (options.isColored ? "\033[32m" : "")
       << std::string(filled, '=') << (options.isColored ? "\033[0m" : "")
       << std::string(width - filled, ' ') << "]" << after;
  } else {
    os << StringRef(before + after).take_front(room);
  }
  os.flush();
  hasBar = true;
  shown = Clock::now();
}

void TrainingProgress::end() {
  if (hasBar)
    os << "\n";
  hasBar = false;
}

} // namespace mp
