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
  int compareNumbers(mlir::ModuleOp result, mlir::TimingScope &timing);
  int runOnMLIR();
  int finishReports();
  int getFailureCode() const;
  int runOnModel();
  /// Describes what would be written, for --dry-run.
  llvm::Error describeWrite(mlir::ModuleOp module);
  mlir::LogicalResult runPasses(mlir::ModuleOp module,
                                mlir::TimingScope &timing);

  const Options &options;
  mlir::DialectRegistry &registry;
  mlir::MlirOptMainConfig config;
  ModelInput input;
  RunWatch watch;
  /// The order matters: the conversion may have a module.
  std::optional<mlir::MLIRContext> context;
  Conversion conversion;
  /// True if a pass was given an option that it does not have.
  bool isMisused = false;
};

} // namespace mp

#endif // MPOPT_TOOLS_DRIVER_H
