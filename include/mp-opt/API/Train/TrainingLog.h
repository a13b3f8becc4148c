//===- TrainingLog.h - A file with a line for each step ---------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_API_TRAIN_TRAININGLOG_H
#define MPOPT_API_TRAIN_TRAININGLOG_H

#include "mp-opt/API/Train/StepRecord.h"

#include "llvm/Support/Error.h"

#include <memory>

namespace mp {

/// A file of JSON lines, each of which is complete when `add` returns.
class TrainingLog {
public:
  /// Opens a log and keeps the lines of steps up to `step`. Later lines are
  /// removed, since the resumed run makes those steps again.
  static llvm::Expected<TrainingLog> open(llvm::StringRef path, uint64_t step);

  llvm::Error add(const StepRecord &record);

private:
  TrainingLog() = default;

  std::unique_ptr<llvm::raw_fd_ostream> file;
  std::string path;
};

} // namespace mp

#endif // MPOPT_API_TRAIN_TRAININGLOG_H
