//===- Reports.h - The reports that a run makes -----------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reports are made inside the pass pipeline, right behind the precision
// passes, where their marks are. They are written when the model is.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_TOOLS_REPORTS_H
#define MPOPT_TOOLS_REPORTS_H

#include "Options.h"

#include "mp-opt/Report/ReportForms.h"
#include "mp-opt/Support/AtomicFile.h"

#include "mlir/Pass/PassManager.h"

namespace mp {

class Reports {
public:
  explicit Reports(const Options &options);

  /// True if a pass must look at the module.
  bool isWanted() const;
  /// Adds the pass that reads what is trained, behind the training passes.
  void addTraining(mlir::OpPassManager &pm);
  /// Adds the pass that measures the model before anything changes it.
  void addStart(mlir::OpPassManager &pm);
  /// Adds the pass that makes the reports, annotates, and strips marks.
  void addEnd(mlir::OpPassManager &pm);

  void addWarning(std::string text) { run.warnings.push_back(std::move(text)); }

  /// Writes files under temporary names.
  llvm::Error prepare();
  /// Gives files their names, and prints the rest.
  llvm::Error finish();

private:
  bool needsNodes() const;
  void printTraining();
  mlir::LogicalResult make(mlir::ModuleOp module);

  const Options &options;
  DimensionSizes dims;
  RunInfo run;
  std::string explanation, table, json, html, overlay;
  std::vector<std::unique_ptr<AtomicFile>> files;
};

} // namespace mp

#endif // MPOPT_TOOLS_REPORTS_H
