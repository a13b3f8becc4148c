//===- Reports.cpp - The reports that a run makes -------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/API/Model/Reports.h"

#include "CallPass.h"
#include "mp-opt/Support/AtomicFile.h"

#include "mp-opt/Graph/Casts.h"

#include "mlir/Pass/Pass.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;

namespace mp {

std::optional<SummaryForm> parseSummaryForm(StringRef value) {
  return llvm::StringSwitch<std::optional<SummaryForm>>(value)
      .Cases({"", "text", "true", "1"}, SummaryForm::Text)
      .Cases({"none", "false", "0"}, SummaryForm::None)
      .Case("json", SummaryForm::JSON)
      .Default(std::nullopt);
}

Reports::Reports(const ReportOptions &options) : options(options) {
  run.version = options.version;
  run.input = options.input;
  run.output = options.output;
  run.isCode = options.isCode;
  run.isVerified = options.isVerified;
  // Invalid entries are reported by mp-assign.
  llvm::consumeError(parseDimensions(options.dims, dims));
}

bool Reports::isWanted() const {
  return options.summary != SummaryForm::None || needsNodes();
}

/// True if a report needs nodes; the table only needs counts.
bool Reports::needsNodes() const {
  return options.summary == SummaryForm::JSON || options.annotate ||
         !options.explain.empty() || !options.report.empty() ||
         !options.overlay.empty() || options.keepsReport ||
         options.keepsOverlay || options.onNodes;
}

void Reports::addStart(OpPassManager &pm) {
  pm.addPass(std::make_unique<CallPass>("MeasureModel", [&](ModuleOp module) {
    run.before = ModelSize::measure(module, dims);
    return llvm::Error::success();
  }));
}

void Reports::addTraining(OpPassManager &pm) {
  pm.addPass(std::make_unique<CallPass>("ReadParameters", [&](ModuleOp module) {
    run.parameters = getParameterTable(module);
    return llvm::Error::success();
  }));
}

void Reports::addEnd(OpPassManager &pm) {
  pm.addPass(std::make_unique<CallPass>(
      "MakeReports", [&](ModuleOp module) { return make(module); }));
}

llvm::Error Reports::make(ModuleOp module) {
  // The attribute is missing if precision was not decided.
  if (!module->hasAttr(mark::summary))
    return llvm::Error::success();
  PrecisionReport report = PrecisionReport::collect(module, dims, needsNodes());
  run.ports = GraphPorts::read(module);
  llvm::raw_string_ostream explain(explanation);
  for (const std::string &name : options.explain) {
    if (!explanation.empty())
      explain << "\n";
    if (llvm::Error failed = printExplanation(report, name, explain))
      return failed;
  }
  if (options.summary == SummaryForm::Text) {
    llvm::raw_string_ostream os(table);
    printSummary(report, run, os);
  }
  if (options.summary == SummaryForm::JSON) {
    llvm::raw_string_ostream os(json);
    printSummaryJSON(&report, run, os);
  }
  if (!options.report.empty() || options.keepsReport) {
    llvm::raw_string_ostream os(html);
    if (llvm::Error failed = printHTML(report, run, options.profile, os))
      return failed;
  }
  if (!options.overlay.empty() || options.keepsOverlay) {
    llvm::raw_string_ostream os(overlay);
    printOverlay(report, os);
  }
  if (options.onNodes)
    options.onNodes(report);
  if (options.annotate)
    annotateNodes(report);
  stripMarks(module);
  return llvm::Error::success();
}

llvm::Error Reports::prepare() {
  for (auto [path, text] : {std::pair(&options.report, &html),
                            std::pair(&options.overlay, &overlay)}) {
    if (path->empty())
      continue;
    auto file = AtomicFile::create(*path);
    if (!file)
      return file.takeError();
    (*file)->os() << *text;
    if (llvm::Error failed = (*file)->finish())
      return failed;
    files.push_back(std::move(*file));
  }
  return llvm::Error::success();
}

/// Fills the table and JSON of a run that does not decide precision.
void Reports::printTraining() {
  if (options.summary == SummaryForm::Text) {
    llvm::raw_string_ostream os(table);
    printParameters(run.parameters, os);
  }
  if (options.summary == SummaryForm::JSON && json.empty()) {
    llvm::raw_string_ostream os(json);
    printSummaryJSON(nullptr, run, os);
  }
}

llvm::Error Reports::finish() {
  if (options.isTraining)
    printTraining();
  for (auto &file : files)
    if (llvm::Error failed = file->commit())
      return failed;
  return llvm::Error::success();
}

} // namespace mp
