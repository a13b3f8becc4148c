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

#ifndef MPOPT_API_REPORTS_H
#define MPOPT_API_REPORTS_H

#include "mp-opt/Report/ReportForms.h"
#include "mp-opt/Support/AtomicFile.h"

#include "mlir/Pass/PassManager.h"

namespace mp {

enum class SummaryForm { None, Text, JSON };

/// "text", "json" or "none", and what flags that are switches take: "" and
/// "true", "false". Nothing for other words.
std::optional<SummaryForm> parseSummaryForm(llvm::StringRef word);

struct ReportOptions {
  SummaryForm summary = SummaryForm::None;
  /// Names of nodes or values to explain.
  std::vector<std::string> explain;
  /// Files: an HTML page, node data for Model Explorer. Not written if empty.
  std::string report, overlay;
  /// The same are kept, for who asks for them.
  bool keepsReport = false, keepsOverlay = false;
  /// The file whose times the page gets.
  std::string profile;
  /// Precision and reason go into the nodes' metadata.
  bool annotate = false;
  /// A training step is made, of which the table of parameters is shown.
  bool isTraining = false;
  /// NAME=SIZE of symbolic dimensions; what is wrong with them is for the
  /// passes to say.
  std::vector<std::string> dims;
  /// The result becomes code for a processor.
  bool isCode = false;
  /// The result is verified, and no report recommends that.
  bool isVerified = false;
  /// What reports say of the run.
  std::string version, input, output;
};

class Reports {
public:
  explicit Reports(const ReportOptions &options);

  /// True if a pass must look at the module.
  bool isWanted() const;
  /// Adds the pass that reads what is trained, behind the training passes.
  void addTraining(mlir::OpPassManager &pm);
  /// Adds the pass that measures the model before anything changes it.
  void addStart(mlir::OpPassManager &pm);
  /// The result will be emulated, which takes the 16-bit types out of it.
  void setEmulated(bool isEmulated) { run.isEmulated = isEmulated; }
  /// Adds the pass that makes the reports, annotates, and strips marks.
  void addEnd(mlir::OpPassManager &pm);

  void addWarning(std::string text) { run.warnings.push_back(std::move(text)); }

  /// Writes files under temporary names.
  llvm::Error prepare();
  /// Gives files their names, and completes the texts.
  llvm::Error finish();

  /// What is for a terminal: explanations, the summary as table or JSON. Empty
  /// where nobody asked.
  llvm::StringRef getExplanation() const { return explanation; }
  llvm::StringRef getTable() const { return table; }
  llvm::StringRef getJSON() const { return json; }
  llvm::StringRef getReport() const { return html; }
  llvm::StringRef getOverlay() const { return overlay; }

private:
  bool needsNodes() const;
  void printTraining();
  mlir::LogicalResult make(mlir::ModuleOp module);

  ReportOptions options;
  DimensionSizes dims;
  RunInfo run;
  std::string explanation, table, json, html, overlay;
  std::vector<std::unique_ptr<AtomicFile>> files;
};

} // namespace mp

#endif // MPOPT_API_REPORTS_H
