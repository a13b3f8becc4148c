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

#include "mp-opt/API/Model/CodeOutput.h"
#include "mp-opt/API/Model/ModelConversion.h"
#include "mp-opt/API/Model/ModelInput.h"
#include "mp-opt/API/Model/Reports.h"
#include "mp-opt/API/Run/Verification.h"
#include "mp-opt/Options/OptionGroups.h"

#include "llvm/Support/Error.h"

#include <optional>
#include <string>
#include <vector>

namespace mp {

/// The values of all flags.
struct ConvertOptions {
  std::string input = "-";
  /// Empty for standard output.
  std::string output;
  Format emit = Format::Auto;
  ConversionOptions conversion;
  /// NAME=SIZE of symbolic dimensions.
  std::vector<std::string> dims;
  /// Options of --emit=llvm, obj and lib.
  CodeOptions code;
  /// Run the result before it is written.
  bool verify = false;
  VerificationOptions verification;
  ReportOptions reports;
  /// False if only explanations of the model were requested.
  bool writesModel = true;
  /// Describe the output instead of writing it.
  bool isDryRun = false;
  /// Print the policy instead of running.
  bool printConfig = false;
  /// If absent, big weights are elided on standard output only.
  std::optional<bool> elideWeights;
  std::string schemas;
  /// Folders in which links to external data may end.
  std::vector<std::string> externalDataRoots;
  CheckLevel check = CheckLevel::Lenient;

  /// Fails if the output's format depends on its name, whose suffix is unknown.
  /// If `from`, the format of the input, is MLIR's, only suffixes that resemble
  /// a known one are refused.
  llvm::Error checkOutputName(Format from) const;
};

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
  llvm::Error completeConversion();
  llvm::Error completeOutput();
  llvm::Error completeReports();
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
  double tolerance = 0;
};

} // namespace mp

#endif // MPOPT_OPTIONS_CONVERTOPTIONS_H
