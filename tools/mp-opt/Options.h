//===- Options.h - The command line of mp-opt -------------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_TOOLS_OPTIONS_H
#define MPOPT_TOOLS_OPTIONS_H

#include "ExitCodes.h"
#include "RunWatch.h"

#include "mp-opt/API/CodeOutput.h"
#include "mp-opt/API/ModelConversion.h"
#include "mp-opt/API/ModelInput.h"
#include "mp-opt/API/Reports.h"
#include "mp-opt/API/Verification.h"

#include "mlir/IR/DialectRegistry.h"
#include "llvm/Support/Error.h"

#include <optional>
#include <string>
#include <vector>

namespace mp {

/// The parsed command line.
struct Options {
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
  /// Of --debug-crash-in and --debug-write-step.
  WatchOptions watch;

  /// Parses the arguments, MLIR's own among them. An exit code if the run is
  /// over: help was printed or the usage is wrong.
  std::optional<int> parse(llvm::ArrayRef<const char *> arguments,
                           mlir::DialectRegistry &registry);

  /// Fails where the output's name says nothing about the format that is to be
  /// written, in place of a model that has the format `from`.
  llvm::Error checkOutputName(Format from) const;

private:
  struct Flags;
  void addFlags(Flags &flags);
  void addFiles(Flags &flags);
  std::optional<int> parseArguments(Flags &flags,
                                    llvm::ArrayRef<const char *> arguments,
                                    mlir::DialectRegistry &registry);
  llvm::Error parseConversion(Flags &flags);
  llvm::Error parseOutput(Flags &flags);
  llvm::Error parseReports(Flags &flags);
  llvm::Error parseVerification(Flags &flags);
  llvm::Error parseCode(Flags &flags);
};

} // namespace mp

#endif // MPOPT_TOOLS_OPTIONS_H
