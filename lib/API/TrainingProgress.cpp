//===- TrainingProgress.cpp - How far a training run is -------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/API/TrainingProgress.h"

#include "mp-opt/API/TensorText.h"

#include "llvm/Support/Format.h"

using namespace llvm;

namespace mp {

using Clock = std::chrono::steady_clock;

TrainingProgress::TrainingProgress(raw_ostream &os, bool isTerminal,
                                   uint64_t total)
    : os(os), isTerminal(isTerminal), total(total), start(Clock::now()) {}

double TrainingProgress::getSeconds() const {
  return std::chrono::duration<double>(Clock::now() - start).count();
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

void TrainingProgress::show(const StepRecord &record) {
  ++made;
  bool isLast = record.step == total;
  double rate = double(made) / std::max(getSeconds(), 1e-9);
  if (!isTerminal) {
    if (uint64_t every = std::max<uint64_t>(total / 10, 1);
        isLast || record.step % every == 0)
      os << "step " << record.step << "/" << total << "  "
         << describe(record, rate) << "\n";
    return;
  }
  if (!isLast && hasBar &&
      Clock::now() - shown < std::chrono::milliseconds(100))
    return;
  constexpr uint64_t width = 24;
  uint64_t filled = record.step * width / std::max<uint64_t>(total, 1);
  os << "\r\033[K[" << std::string(filled, '=')
     << std::string(width - std::min(filled, width), ' ') << "] " << record.step
     << "/" << total << "  " << describe(record, rate);
  hasBar = true;
  shown = Clock::now();
}

void TrainingProgress::end() {
  if (hasBar)
    os << "\n";
  hasBar = false;
}

} // namespace mp
