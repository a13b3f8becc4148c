//===- ReportForms.h - Forms of a precision report --------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_REPORT_REPORTFORMS_H
#define MPOPT_REPORT_REPORTFORMS_H

#include "mp-opt/Report/PrecisionReport.h"
#include "mp-opt/Training/ParameterTable.h"

#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

namespace mp {

/// What a report says beside the model.
struct RunInfo {
  std::string version, input, output;
  ModelSize before;
  std::vector<std::string> warnings;
  /// What --train has decided; empty without it.
  std::vector<ParameterRecord> parameters;
  /// What is 16 bit becomes fp32 that is rounded, behind this report.
  bool isEmulated = false;
  /// What is written is code for a processor, and no model.
  bool isCode = false;
  /// The result is run and compared with its input.
  bool isVerified = false;
};

/// Where the result runs, by what it computes in; empty of code.
struct RuntimeSupport {
  std::vector<std::string> runsIn;
  /// One that does not run it, why, and flags that make a result which it
  /// does; empty if there is none.
  std::string notIn, reason;
  std::vector<std::string> remedies;
};
RuntimeSupport findRuntimes(const PrecisionReport &report, const RunInfo &run);
/// "runs in: mp-run, onnxruntime"; nothing of code.
void printRuntimes(const RuntimeSupport &support, llvm::raw_ostream &os);
/// A line that recommends --verify where the conversion alone says too little;
/// nothing for most models.
void printAdvice(const PrecisionReport &report, const RunInfo &run,
                 llvm::raw_ostream &os);
/// The attribute `runtimes` of a JSON object.
void writeRuntimes(const RuntimeSupport &support, llvm::json::OStream &json);

/// The number in `schema_version` of every JSON that a report writes; it grows
/// when a key goes or changes its meaning.
inline constexpr int reportSchemaVersion = 2;

/// The table at the end of a run.
void printSummary(const PrecisionReport &report, const RunInfo &run,
                  llvm::raw_ostream &os);
/// The same and more as JSON; docs/reports.md names the keys. `report` is
/// null if nothing has decided on precision.
void printSummaryJSON(const PrecisionReport *report, const RunInfo &run,
                      llvm::raw_ostream &os);

/// What is trained, and what is not and why.
void printParameters(llvm::ArrayRef<ParameterRecord> parameters,
                     llvm::raw_ostream &os);
/// The same as the attribute `training` of a JSON object.
void writeParameters(llvm::ArrayRef<ParameterRecord> parameters,
                     llvm::json::OStream &json);

/// Prints why the nodes named `name`, or the value of that name, have their
/// precision. Fails, with the nearest name, if there is none.
llvm::Error printExplanation(const PrecisionReport &report,
                             llvm::StringRef name, llvm::raw_ostream &os);

/// Node data for Model Explorer: its `results` and `thresholds` per graph.
void printOverlay(const PrecisionReport &report, llvm::raw_ostream &os);

/// One HTML file that needs no other. With a `profile`, the path of what
/// `mp-run bench --profile --json` printed, nodes have times. Fails if that is
/// something else, or of another model.
llvm::Error printHTML(const PrecisionReport &report, const RunInfo &run,
                      llvm::StringRef profile, llvm::raw_ostream &os);

/// Writes precision and reason into the nodes' metadata, under the keys
/// `mp-opt.precision`, `mp-opt.reason` and, on casts, `mp-opt.inserted`. What
/// an earlier run has written stays where the precision is still the same.
void annotateNodes(const PrecisionReport &report);

/// The name nearest to `name`; empty if none is near.
std::string findNearest(llvm::StringRef name,
                        llvm::ArrayRef<llvm::StringRef> candidates);

/// A string of the model as JSON has it: bad UTF-8 replaced.
llvm::json::Value toJSON(llvm::StringRef text);

} // namespace mp

#endif // MPOPT_REPORT_REPORTFORMS_H
