//===- Options.h - The command line of mp-opt -------------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_TOOLS_OPTIONS_H
#define MPOPT_TOOLS_OPTIONS_H

#include "CodeOutput.h"
#include "DebugCrash.h"
#include "ExitCodes.h"

#include "mp-opt/API/ModelInput.h"
#include "mp-opt/Execution/CodeCache.h"
#include "mp-opt/Precision/Policy/PolicyFile.h"

#include "Pipelines/Pipelines.h"

#include "mlir/IR/DialectRegistry.h"
#include "llvm/Support/Error.h"

#include <optional>
#include <string>
#include <vector>

namespace mp {

enum class SummaryForm { None, Text, JSON };

/// The parsed command line.
struct Options {
  std::string input;
  std::string output;
  Format emit = Format::Auto;
  std::optional<MixedPrecisionOptions> mixed;
  /// Make a training step first.
  std::optional<TrainingOptions> training;
  /// Of a step without mixed precision; else it is in `mixed`.
  std::string lossScale = "none";
  bool emulate = false;
  /// Of --emit=llvm, obj and lib.
  CodeOptions code;
  /// Run the result before it is written: on these data, or on random numbers;
  /// the relative error that its outputs may have, if it is given.
  bool verify = false;
  std::string verifyData;
  std::optional<double> verifyTolerance;
  std::vector<std::string> verifyDims;
  CodeCacheOptions cache;
  SummaryForm summary = SummaryForm::None;
  /// Names of nodes or values.
  std::vector<std::string> explain;
  /// Files, if given.
  std::string report, overlay;
  bool annotate = false;
  /// False if only what explains the model was asked for.
  bool writesModel = true;
  /// Print the policy instead of running.
  bool printConfig = false;
  /// Absent: leave out big weights where the text goes to standard output.
  std::optional<bool> elideWeights;
  std::string schemas;
  /// Folders below which external data may lie behind links.
  std::vector<std::string> externalDataRoots;
  /// Where and how to crash on purpose; nowhere if empty.
  std::string crashPlace;
  CrashKind crashKind = CrashKind::Segv;
  /// Set in the run that makes a reproducer: the step to write, and where to.
  std::optional<unsigned> writeStep;
  int writeDescriptor = -1;

  /// Parses the arguments, MLIR's own among them. An exit code if the run is
  /// over: help was printed or the usage is wrong.
  std::optional<int> parse(int argc, char **argv,
                           mlir::DialectRegistry &registry);

private:
  struct Flags;
  std::optional<int> parseReports(Flags &flags);
  std::optional<int> parseDebugging(Flags &flags);
  std::optional<int> parseVerification(Flags &flags);
  std::optional<int> parseCode(Flags &flags);
};

/// True for what --emit=llvm, obj and lib stand for.
bool isCode(Format format);

} // namespace mp

#endif // MPOPT_TOOLS_OPTIONS_H
