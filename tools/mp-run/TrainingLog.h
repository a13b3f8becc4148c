//===- TrainingLog.h - What a training run tells ----------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_TOOLS_TRAININGLOG_H
#define MPOPT_TOOLS_TRAININGLOG_H

#include "llvm/Support/Error.h"
#include "llvm/Support/raw_ostream.h"

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace mp {

struct StepRecord {
  /// Steps made, this one included.
  uint64_t step = 0, epoch = 0;
  double loss = 0;
  /// Of a loss that is a sum, by the names of its parts.
  std::vector<std::pair<std::string, double>> parts;
  std::optional<double> rate, scale, skipped;
};

/// A file with an object of JSON in each line, and what a user sees: a bar on
/// terminals, elsewhere a line now and then.
class TrainingLog {
public:
  TrainingLog(uint64_t total, bool isQuiet);
  ~TrainingLog() { endBar(); }

  /// Keeps the file's lines of steps up to `step`; what comes later has not
  /// happened for the run that goes on there.
  llvm::Error open(llvm::StringRef path, uint64_t step);
  llvm::Error add(const StepRecord &record);
  /// A line of its own, on standard error.
  void note(const llvm::Twine &text);

  double getSeconds() const;

private:
  void show(const StepRecord &record);
  void endBar();

  uint64_t total, made = 0;
  bool isTerminal, isQuiet, hasBar = false;
  std::chrono::steady_clock::time_point start, shown;
  std::unique_ptr<llvm::raw_fd_ostream> file;
  std::string path;
};

} // namespace mp

#endif // MPOPT_TOOLS_TRAININGLOG_H
