//===- Conversion.h - From one model file to another ------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_API_RUN_CONVERSION_H
#define MPOPT_API_RUN_CONVERSION_H

#include "mp-opt/API/Model/CodeOutput.h"
#include "mp-opt/API/Model/ModelConversion.h"
#include "mp-opt/API/Model/ModelOutput.h"
#include "mp-opt/API/Model/ModuleDigest.h"
#include "mp-opt/API/Model/Reports.h"
#include "mp-opt/API/Run/AttributionReport.h"
#include "mp-opt/API/Run/Calibration.h"
#include "mp-opt/API/Run/Verification.h"

namespace mp {

/// A conversion, as the flags of mp-opt request it.
struct ConvertOptions {
  std::string input = "-";
  /// Empty for standard output.
  std::string output;
  Format emit = Format::Auto;
  ConversionOptions conversion;
  CalibrationOptions calibration;
  /// Attributes errors on the data of the calibration, or searches a precision
  /// within one; null for neither.
  std::shared_ptr<Attributor> attributor;
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
};

/// Callbacks that observe a conversion; both may be empty.
struct ConversionObserver {
  /// Receives messages of the verification.
  MessageFn onMessage;
  /// Called as "export" and "write" begin.
  std::function<void(llvm::StringRef step)> onStep;
};

/// The steps of a conversion, in order: names of files, model, passes,
/// verification, reports and writing. The caller reads the model and runs the
/// passes.
class Conversion {
public:
  /// The options and `input`, which has been read before it is used here, must
  /// outlive this.
  Conversion(const ConvertOptions &options, const ModelInput &input,
             ConversionObserver observer = {});

  /// Fails if files to be written are read, too.
  llvm::Error checkPaths() const;
  /// Fails if the output's format depends on its name, whose suffix is unknown
  /// (kind Usage). If the input's format is MLIR's, only suffixes that resemble
  /// a known one are refused.
  llvm::Error checkOutputName() const;
  /// The format of the output.
  Format getFormat() const;

  /// Takes the model as it was read; `digest` is its digest, if that is known
  /// and the model may have been changed since. Fails if a file to be written
  /// is a data file of the input.
  llvm::Error start(mlir::ModuleOp module,
                    std::optional<ModuleDigest> digest = std::nullopt);
  /// Adds the passes (ModelConversion.h: addConversion).
  mlir::LogicalResult
  addPasses(mlir::PassManager &pm,
            llvm::function_ref<mlir::LogicalResult()> addOthers = nullptr);
  /// True if a strict policy has refused the model.
  bool isRefused() const { return refused; }
  /// True if fp32 itself is not within the target error.
  bool isMissed() const {
    return options.attributor && options.attributor->isMissed();
  }
  /// Takes the result of the passes.
  void finish(mlir::ModuleOp module);

  /// Compares the numbers of the model and the result; absent if that is not
  /// requested. Prints a table of the differences.
  llvm::Expected<std::optional<Verdict>> verify(mlir::ModuleOp result,
                                                mlir::TimingScope &timing,
                                                llvm::raw_ostream &table);
  /// Prepares the reports. Writes the result if that is requested, unless it is
  /// a dry run.
  llvm::Error write(mlir::ModuleOp result, mlir::TimingScope &timing);
  /// Writes the ranges that were measured, if that is requested; `write` does
  /// so, too.
  llvm::Error writeRanges();

  Reports &getReports() { return reports; }
  ModelOutput &getOutput() { return output; }

private:
  llvm::Error writeModel(mlir::ModuleOp result, mlir::TimingScope &timing);

  const ConvertOptions &options;
  const ModelInput &input;
  const ConversionObserver observer;
  Reports reports;
  ModelOutput output;
  std::optional<ModuleDigest> before;
  /// A copy of the model, for the verification. It needs the model's context.
  mlir::OwningOpRef<mlir::ModuleOp> original;
  bool refused = false, unchanged = false;
};

} // namespace mp

#endif // MPOPT_API_RUN_CONVERSION_H
