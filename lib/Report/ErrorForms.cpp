//===- ErrorForms.cpp - Attributed errors as text and as JSON -------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ErrorForms.h"

#include "mp-opt/Precision/Analysis/FloatSignature.h"
#include "mp-opt/Report/ReportForms.h"
#include "mp-opt/Support/ShownText.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Format.h"

#include <cmath>

using namespace mlir;

namespace mp {

std::vector<unsigned> rankErrors(const PrecisionReport &report) {
  std::vector<unsigned> ranked;
  for (auto [index, node] : llvm::enumerate(report.nodes))
    if (node.error)
      ranked.push_back(unsigned(index));
  llvm::stable_sort(ranked, [&](unsigned a, unsigned b) {
    return report.nodes[a].error->share > report.nodes[b].error->share;
  });
  return ranked;
}

/// The values that errors are relative to.
static StringRef getErrorBase(const ErrorTotals &totals) {
  return totals.areGradients ? "gradients" : "outputs";
}

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

static std::string formatRMS(double error) {
  if (!std::isfinite(error))
    return "that is not finite";
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format("%.1e", error);
  return text;
}

/// The share in percent. A part of less than 0.1 % is not worth a number.
static std::string formatErrorShare(double share) {
  double percent = 100 * share;
  if (percent == 0)
    return "nothing";
  if (percent < 0.1)
    return "less than 0.1 %";
  std::string text;
  llvm::raw_string_ostream(text)
      << llvm::format(percent < 10 ? "%.1f %%" : "%.0f %%", percent);
  return text;
}

void printError(const PrecisionReport &report, const ReportNode &node,
                raw_ostream &os) {
  if (!node.error || !report.errors)
    return;
  const NodeErrorMark &error = *node.error;
  os << "  error: its roundings cause an error of "
     << formatRMS(error.predicted) << " of the "
     << getErrorBase(*report.errors);
  if (error.measured)
    os << " (measured "
       << (std::isfinite(*error.measured) ? formatRMS(*error.measured)
                                          : "not finite")
       << ")";
  if (std::isfinite(report.errors->predicted))
    os << ", " << formatErrorShare(error.share) << " of the whole";
  os << "\n";
  for (const std::string &doubt : report.errors->doubts)
    os << "  error: not reliable: " << escapeText(doubt) << "\n";
}

//===----------------------------------------------------------------------===//
// JSON
//===----------------------------------------------------------------------===//

llvm::json::Value errorToJSON(double error) {
  return std::isfinite(error) ? llvm::json::Value(error)
                              : llvm::json::Value(nullptr);
}

void writeTotals(const ErrorTotals &totals, llvm::json::OStream &json) {
  json.attribute("of", getErrorBase(totals));
  json.attribute("predicted", errorToJSON(totals.predicted));
  json.attribute("measured", errorToJSON(totals.measured));
  if (totals.target)
    json.attribute("target", *totals.target);
  json.attribute("batches", int64_t(totals.batches));
  json.attribute("reliable", totals.doubts.empty());
  json.attributeArray("doubts", [&] {
    for (const std::string &doubt : totals.doubts)
      json.value(toJSON(doubt));
  });
}

void writeErrors(const PrecisionReport &report, llvm::json::OStream &json) {
  if (!report.errors)
    return;
  constexpr size_t limit = 50;
  std::vector<unsigned> ranked = rankErrors(report);
  json.attributeObject("errors", [&] {
    writeTotals(*report.errors, json);
    json.attribute("nodes_with_errors", int64_t(ranked.size()));
    json.attributeArray("nodes", [&] {
      for (unsigned index : ArrayRef(ranked).take_front(limit))
        json.object([&] {
          const ReportNode &node = report.nodes[index];
          json.attribute("node", toJSON(node.getDisplayName()));
          json.attribute("op",
                         toJSON(getQualifiedName(node.domain, node.opType)));
          json.attribute("predicted", errorToJSON(node.error->predicted));
          if (node.error->measured)
            json.attribute("measured", errorToJSON(*node.error->measured));
          json.attribute("share", errorToJSON(node.error->share));
        });
    });
  });
}

} // namespace mp
