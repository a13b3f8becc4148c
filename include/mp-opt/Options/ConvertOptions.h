//===- ConvertOptions.h - Options for converting a model --------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//
// The options of mp-opt, of the C API and of Python's calls: one table of flags
// fills them, and one check says which do not fit together.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_OPTIONS_CONVERTOPTIONS_H
#define MPOPT_OPTIONS_CONVERTOPTIONS_H

#include "mp-opt/API/Run/Conversion.h"
#include "mp-opt/Options/OptionGroups.h"

#include "llvm/Support/Error.h"

#include <optional>
#include <string>
#include <vector>

namespace mp {

/// The flags, and their values as far as the options do not store them. Both
/// this object and the options must stay at their addresses while flags are
/// parsed.
class ConvertFlags {
public:
  /// Adds the rows to `table`.
  ConvertFlags(FlagTable &table, ConvertOptions &options);

  /// Completes the options; fails with kind Usage if flags are invalid or
  /// contradict each other. `version` is the program's version in reports.
  llvm::Error complete(llvm::StringRef version);

private:
  void addFiles();
  void addExplanations();
  llvm::Error completeRuntime();
  llvm::Error completeConversion();
  llvm::Error completeOutput();
  llvm::Error completeReports();
  llvm::Error completeExcessPrecision();
  llvm::Error completeErrors(bool isMixed);
  llvm::Error completeVerification();
  llvm::Error completeCode();

  FlagTable &set;
  ConvertOptions &options;
  bool elideWeights = false;
  PrecisionFlags precision;
  TrainingFlags training;
  CodeFlags code;
  std::string cache, version;
  std::optional<SummaryForm> summary;
  double tolerance = 0, targetError = 0;
  bool attributes = false;
};

} // namespace mp

#endif // MPOPT_OPTIONS_CONVERTOPTIONS_H
