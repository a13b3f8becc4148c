//===- Driver.h - What a run of mp-opt does ---------------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads the input, runs the passes, writes the output. MLIR input that stays
// MLIR goes through MlirOptMain, which gives mp-opt all features of mlir-opt;
// everything else takes the same pass pipeline between import and export.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_TOOLS_DRIVER_H
#define MPOPT_TOOLS_DRIVER_H

#include "Options.h"

#include "mp-opt/API/Model/ModelOutput.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Support/Timing.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"

namespace mp {

class Driver {
public:
  Driver(const Options &options, mlir::DialectRegistry &registry);

  /// Returns the exit code.
  int run();

private:
  int fail(llvm::Error error) const;
  int printConfig();
  void hintAtOutput() const;
  int compareNumbers(mlir::ModuleOp original, mlir::ModuleOp result,
                     mlir::TimingScope &timing);
  int runOnMLIR(Format format);
  int finishReports();
  int getFailureCode() const;
  int runOnModel(Format inputFormat, Format outputFormat);
  /// Describes what would be written, for --dry-run.
  llvm::Error describeWrite(mlir::ModuleOp module, Format format);
  /// Writes the result and the reports.
  int write(mlir::ModuleOp module, Format format, bool unchanged,
            mlir::TimingScope &timing);
  mlir::LogicalResult runPasses(mlir::ModuleOp module,
                                mlir::TimingScope &timing);

  const Options &options;
  mlir::DialectRegistry &registry;
  mlir::MlirOptMainConfig config;
  ModelInput input;
  Reports reports;
  RunWatch watch;
  ModelOutput output;
  /// True if --strict has refused the model.
  bool isRefused = false;
  /// True if a pass was given an option that it does not have.
  bool isMisused = false;
};

} // namespace mp

#endif // MPOPT_TOOLS_DRIVER_H
