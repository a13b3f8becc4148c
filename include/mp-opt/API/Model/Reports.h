//===- Reports.h - The reports that a run makes -----------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reports are made inside the pass pipeline, right after the precision passes,
// whose marks they read. They are written together with the model.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_API_MODEL_REPORTS_H
#define MPOPT_API_MODEL_REPORTS_H

#include "mp-opt/Report/ReportForms.h"
#include "mp-opt/Support/AtomicFile.h"

#include "mlir/Pass/PassManager.h"

#include <functional>

namespace mp {

enum class SummaryForm { None, Text, JSON };

/// Parses "text", "json" or "none", and the values of boolean flags: "", "true"
/// and "false". Absent for other values.
std::optional<SummaryForm> parseSummaryForm(llvm::StringRef value);

struct ReportOptions {
  SummaryForm summary = SummaryForm::None;
  /// Names of nodes or values to explain.
  std::vector<std::string> explain;
  /// Paths of an HTML page and of node data for Model Explorer. Empty to write
  /// none.
  std::string report, overlay;
  /// Keep the same in memory for callers that read them.
  bool keepsReport = false, keepsOverlay = false;
  /// Receives the decisions, with all nodes, before their marks are removed;
  /// may be empty.
  std::function<void(const PrecisionReport &)> onNodes;
  /// The file with the times that the HTML page shows.
  std::string profile;
  /// Stores precision and reason in the nodes' metadata.
  bool annotate = false;
  /// True if a training step is made, whose table of parameters is shown.
  bool isTraining = false;
  /// NAME=SIZE of symbolic dimensions. Passes report invalid entries.
  std::vector<std::string> dims;
  /// The result becomes code for a processor.
  bool isCode = false;
  /// The result is verified, and no report recommends that.
  bool isVerified = false;
  /// Shown in reports as facts of the run.
  std::string version, input, output;
};

class Reports {
public:
  explicit Reports(const ReportOptions &options);

  /// True if a pass must look at the module.
  bool isWanted() const;
  /// Adds the pass that reads the trained parameters, after the training
  /// passes.
  void addTraining(mlir::OpPassManager &pm);
  /// Adds the pass that measures the model before anything changes it.
  void addStart(mlir::OpPassManager &pm);
  /// Set if the result will be emulated, which removes its 16-bit types.
  void setEmulated(bool isEmulated) { run.isEmulated = isEmulated; }
  /// Adds the pass that makes the reports, annotates, and strips marks.
  void addEnd(mlir::OpPassManager &pm);

  void addWarning(std::string text) { run.warnings.push_back(std::move(text)); }

  /// Writes files under temporary names.
  llvm::Error prepare();
  /// Renames files to their final names, and completes the reports.
  llvm::Error finish();

  /// Output for a terminal: explanations, and the summary as table or JSON.
  /// Empty if not requested.
  llvm::StringRef getExplanation() const { return explanation; }
  llvm::StringRef getTable() const { return table; }
  llvm::StringRef getJSON() const { return json; }
  llvm::StringRef getReport() const { return html; }
  llvm::StringRef getOverlay() const { return overlay; }

private:
  bool needsNodes() const;
  void printTraining();
  llvm::Error make(mlir::ModuleOp module);

  ReportOptions options;
  DimensionSizes dims;
  RunInfo run;
  std::string explanation, table, json, html, overlay;
  std::vector<std::unique_ptr<AtomicFile>> files;
};

} // namespace mp

#endif // MPOPT_API_MODEL_REPORTS_H
