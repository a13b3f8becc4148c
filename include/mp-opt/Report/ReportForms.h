//===- ReportForms.h - Forms of a precision report --------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_REPORT_REPORTFORMS_H
#define MPOPT_REPORT_REPORTFORMS_H

#include "mp-opt/Report/GraphPorts.h"
#include "mp-opt/Report/PrecisionReport.h"
#include "mp-opt/Training/ParameterTable.h"

#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

namespace mp {

/// Facts for a report that are not in the model.
struct RunInfo {
  std::string version, input, output;
  ModelSize before;
  GraphPorts ports;
  std::vector<std::string> warnings;
  /// The decisions of --train; empty without it.
  std::vector<ParameterRecord> parameters;
  /// 16-bit types are replaced by rounded fp32 after this report.
  bool isEmulated = false;
  /// The output is code for a processor, not a model.
  bool isCode = false;
  /// The result is run and compared with the input model.
  bool isVerified = false;
};

/// The runtimes that can run the result, given its types; empty for code.
struct RuntimeSupport {
  std::vector<std::string> runsIn;
  /// A runtime that cannot run the result, the reason, and flags that make a
  /// result for it; empty if there is none.
  std::string notIn, reason;
  std::vector<std::string> remedies;
};
RuntimeSupport findRuntimes(const PrecisionReport &report, const RunInfo &run);
/// Prints "runs in: mp-run, onnxruntime"; nothing for code.
void printRuntimes(const RuntimeSupport &support, llvm::raw_ostream &os);
/// Prints a line that recommends --verify if the conversion alone does not tell
/// enough; nothing for most models.
void printAdvice(const PrecisionReport &report, const RunInfo &run,
                 llvm::raw_ostream &os);
/// Writes the attribute `runtimes` of a JSON object.
void writeRuntimes(const RuntimeSupport &support, llvm::json::OStream &json);

/// The number in `schema_version` of every JSON report; it increases when a key
/// is removed or changes its meaning.
inline constexpr int reportSchemaVersion = 2;

/// Prints the table at the end of a run.
void printSummary(const PrecisionReport &report, const RunInfo &run,
                  llvm::raw_ostream &os);
/// Prints the same facts and more as JSON; docs/reports.md describes the keys.
/// `report` is null if no precision was decided.
void printSummaryJSON(const PrecisionReport *report, const RunInfo &run,
                      llvm::raw_ostream &os);

/// Prints which parameters are trained, and why others are not.
void printParameters(llvm::ArrayRef<ParameterRecord> parameters,
                     llvm::raw_ostream &os);
/// Writes the same as the attribute `training` of a JSON object.
void writeParameters(llvm::ArrayRef<ParameterRecord> parameters,
                     llvm::json::OStream &json);

/// Prints why the nodes named `name`, or the value of that name, have their
/// precision. Fails, with the nearest name, if there is none.
llvm::Error printExplanation(const PrecisionReport &report,
                             llvm::StringRef name, llvm::raw_ostream &os);

/// Prints node data for Model Explorer: its `results` and `thresholds` per
/// graph.
void printOverlay(const PrecisionReport &report, llvm::raw_ostream &os);

/// Prints a self-contained HTML file. With a `profile`, the path of the output
/// of `mp-run bench --profile --json`, nodes have times. Fails if that is
/// another kind of file, or belongs to another model.
llvm::Error printHTML(const PrecisionReport &report, const RunInfo &run,
                      llvm::StringRef profile, llvm::raw_ostream &os);

/// The source of a page's content security policy that allows a script or style
/// with this text.
std::string getPolicyHash(llvm::StringRef text);

/// Writes precision and reason into the nodes' metadata, under the keys
/// `mp-opt.precision`, `mp-opt.reason` and, on casts, `mp-opt.inserted`.
/// Metadata of an earlier run stays if the precision is still the same.
void annotateNodes(const PrecisionReport &report);

/// The name closest to `name`; empty if none is close.
std::string findNearest(llvm::StringRef name,
                        llvm::ArrayRef<llvm::StringRef> candidates);

/// A string of the model as valid JSON: bad UTF-8 is replaced.
llvm::json::Value toJSON(llvm::StringRef text);

} // namespace mp

#endif // MPOPT_REPORT_REPORTFORMS_H
