//===- ConvertOptions.h - What is to be done to a model ---------*- C++ -*-===//
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

#include "mp-opt/API/CodeOutput.h"
#include "mp-opt/API/ModelConversion.h"
#include "mp-opt/API/ModelInput.h"
#include "mp-opt/API/Reports.h"
#include "mp-opt/API/Verification.h"
#include "mp-opt/Options/OptionGroups.h"

#include "llvm/Support/Error.h"

#include <optional>
#include <string>
#include <vector>

namespace mp {

/// What flags have said.
struct ConvertOptions {
  std::string input = "-";
  /// Empty for standard output.
  std::string output;
  Format emit = Format::Auto;
  ConversionOptions conversion;
  /// NAME=SIZE of symbolic dimensions.
  std::vector<std::string> dims;
  /// Of --emit=llvm, obj and lib.
  CodeOptions code;
  /// Run the result before it is written.
  bool verify = false;
  VerificationOptions verification;
  ReportOptions reports;
  /// False if only what explains the model was asked for.
  bool writesModel = true;
  /// Say what would be written instead of writing.
  bool isDryRun = false;
  /// Print the policy instead of running.
  bool printConfig = false;
  /// Absent: leave out big weights where the text goes to standard output.
  std::optional<bool> elideWeights;
  std::string schemas;
  /// Folders below which external data may lie behind links.
  std::vector<std::string> externalDataRoots;
  CheckLevel check = CheckLevel::Lenient;

  /// Fails where the output's name says nothing about the format that is to be
  /// written, in place of a model that has the format `from`.
  llvm::Error checkOutputName(Format from) const;
};

/// The flags, and what of them the options do not hold as it was given. Both it
/// and the options stay where they are while there are flags to give.
class ConvertFlags {
public:
  /// Adds the rows to `table`.
  ConvertFlags(FlagTable &table, ConvertOptions &options);

  /// Completes the options; fails, of kind Usage, where flags contradict
  /// themselves or each other. `version` is what reports say of the program.
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
