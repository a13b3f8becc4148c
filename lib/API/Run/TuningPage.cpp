//===- TuningPage.cpp - Error against bytes as a page ---------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Writes one HTML file with a plot (inline SVG) and a table. It has no script;
// its policy allows its own style by hash, and no requests.
//
//===----------------------------------------------------------------------===//

#include "mp-opt/API/Run/PrecisionTuning.h"

#include "mp-opt/Report/ReportForms.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"

#include <cmath>

using namespace mlir;

namespace mp {

static constexpr StringLiteral tuningStyle =
    ":root { color-scheme: light dark; --text: #222; --page: #fff;\n"
    "  --rule: #cfd8dc; --line: #78909c; --mark: #0d47a1; --hot: #d84315; }\n"
    "@media (prefers-color-scheme: dark) { :root { --text: #eceff1;\n"
    "  --page: #1b2226; --rule: #37474f; --line: #90a4ae; --mark: #90caf9;\n"
    "  --hot: #ff8a65; } }\n"
    "body { max-width: 48rem; margin: 1rem auto; padding: 0 1rem;\n"
    "  color: var(--text); background: var(--page);\n"
    "  font: 14px/1.4 system-ui, sans-serif; }\n"
    "h1 { font-size: 18px; overflow-wrap: anywhere; }\n"
    "svg { width: 100%; height: auto; }\n"
    "text { fill: var(--text); font-size: 12px; }\n"
    ".grid { stroke: var(--rule); } .frame { stroke: var(--line); }\n"
    ".frame, .curve { fill: none; } .curve { stroke: var(--mark); }\n"
    ".measured { fill: var(--mark); }\n"
    ".predicted { fill: var(--page); stroke: var(--mark); }\n"
    ".found { fill: var(--hot); } .other { fill: var(--line); }\n"
    ".target { stroke: var(--hot); stroke-dasharray: 6 4; }\n"
    "table { border-collapse: collapse; width: 100%; }\n"
    "th, td { text-align: right; padding: .15rem .3rem;\n"
    "  border-bottom: 1px solid var(--rule); }\n"
    "th:first-child, td:first-child { text-align: left; }\n";

namespace {

/// An assignment of precisions, as a row of the table and a point of the plot.
struct TuningRow {
  std::string name;
  /// The class of the style sheet.
  StringRef style;
  double error = 0;
  std::optional<double> predicted = {};
  int64_t bytes = 0;
  std::optional<size_t> lowNodes = {};
};

/// Bytes go to the right, in percent of those of fp32; errors go up, by
/// decades. Lengths are in the units of the image.
class TuningPlot {
public:
  TuningPlot(const TuningReport &report, ArrayRef<TuningRow> rows);

  void print(raw_ostream &os) const;

private:
  static constexpr double left = 70, right = 20, top = 16, bottom = 44;
  static constexpr double width = 720, height = 400;

  double getX(double bytes) const {
    return left +
           (width - left - right) * (percent(bytes) - lowX) / (highX - lowX);
  }
  double getY(double error) const {
    return height - bottom -
           (height - top - bottom) * (std::log10(error) - lowY) /
               (highY - lowY);
  }
  double percent(double bytes) const {
    return report.f32Bytes ? 100 * bytes / double(report.f32Bytes) : 100;
  }
  void printGrid(raw_ostream &os) const;
  void printCurve(raw_ostream &os) const;
  void printPoint(raw_ostream &os, const TuningRow &row, double error,
                  StringRef style, double radius) const;

  const TuningReport &report;
  ArrayRef<TuningRow> rows;
  /// Percents and exponents at the ends of the axes.
  double lowX = 100, highX = 100, lowY = 0, highY = 0;
};

} // namespace

/// True for errors that a logarithmic axis has a place for.
static bool isDrawable(double error) {
  return std::isfinite(error) && error > 0;
}

static std::string formatPlotted(double error) {
  if (!std::isfinite(error))
    return "not finite";
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format("%.2e", error);
  return text;
}

TuningPlot::TuningPlot(const TuningReport &report, ArrayRef<TuningRow> rows)
    : report(report), rows(rows) {
  double least = HUGE_VAL, greatest = 0;
  auto cover = [&](double error) {
    if (!isDrawable(error))
      return;
    least = std::min(least, error);
    greatest = std::max(greatest, error);
  };
  for (const TuningRow &row : rows) {
    cover(row.error);
    cover(row.predicted.value_or(0));
    lowX = std::min(lowX, percent(double(row.bytes)));
    highX = std::max(highX, percent(double(row.bytes)));
  }
  if (report.found)
    cover(report.found->target);
  lowX = 10 * std::floor((lowX - 1) / 10);
  highX = 10 * std::ceil(highX / 10);
  if (!greatest)
    return;
  lowY = std::floor(std::log10(least));
  highY = std::max(std::ceil(std::log10(greatest)), lowY + 1);
}

void TuningPlot::printGrid(raw_ostream &os) const {
  auto line = [&](StringRef style, double x0, double y0, double x1, double y1) {
    os << "<line class=\"" << style
       << llvm::format("\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>\n",
                       x0, y0, x1, y1);
  };
  double ground = height - bottom, end = width - right;
  // More lines than this are one gray area.
  constexpr double maxLines = 12;
  double stepX = 10 * std::ceil((highX - lowX) / 10 / maxLines);
  for (double x = lowX; x <= highX; x += stepX) {
    double at = getX(x * double(report.f32Bytes) / 100);
    line("grid", at, top, at, ground);
    os << llvm::format("<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">"
                       "%.0f %%</text>\n",
                       at, ground + 16, x);
  }
  double stepY = std::ceil((highY - lowY) / maxLines);
  for (double y = lowY; y <= highY; y += stepY) {
    double at = getY(std::pow(10, y));
    line("grid", left, at, end, at);
    os << llvm::format("<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"end\">"
                       "1e%.0f</text>\n",
                       left - 6, at + 4, y);
  }
  if (report.found)
    line("target", left, getY(report.found->target), end,
         getY(report.found->target));
  os << "<text x=\"8\" y=\"12\">error</text>\n";
  os << llvm::format(
      "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">bytes, "
      "of those of fp32</text>\n",
      (left + end) / 2, height - 6);
}

void TuningPlot::printPoint(raw_ostream &os, const TuningRow &row, double error,
                            StringRef style, double radius) const {
  if (!isDrawable(error))
    return;
  os << "<circle class=\"" << style
     << llvm::format("\" cx=\"%.1f\" cy=\"%.1f\" r=\"%.0f\">",
                     getX(double(row.bytes)), getY(error), radius)
     << "<title>" << row.name << ": " << formatPlotted(error)
     << llvm::format(", %.1f %% of the bytes", percent(double(row.bytes)))
     << "</title></circle>\n";
}

void TuningPlot::printCurve(raw_ostream &os) const {
  os << "<polyline class=\"curve\" points=\"";
  for (const TuningReport::Point &point : report.curve)
    if (isDrawable(point.measured))
      os << llvm::format("%.1f,%.1f ", getX(double(point.bytes)),
                         getY(point.measured));
  os << "\"/>\n";
}

void TuningPlot::print(raw_ostream &os) const {
  os << llvm::format("<svg viewBox=\"0 0 %.0f %.0f\"", width, height)
     << " role=\"img\" aria-label=\"error against bytes\">\n";
  if (highY > lowY)
    printGrid(os);
  printCurve(os);
  for (const TuningRow &row : rows) {
    printPoint(os, row, row.predicted.value_or(0), "predicted", 4);
    printPoint(os, row, row.error, row.style, row.style == "found" ? 6 : 4);
  }
  os << "</svg>\n";
}

static std::vector<TuningRow> getTuningRows(const TuningReport &report) {
  std::vector<TuningRow> rows;
  for (auto [index, point] : llvm::enumerate(report.curve))
    rows.push_back(
        {index ? "the cut within " +
                     formatPlotted(point.share * report.curve.front().predicted)
               : "all that may be " + report.precision,
         "measured", point.measured, point.predicted, point.bytes,
         point.lowNodes});
  for (const TuningReport::Baseline &other : report.baselines)
    rows.push_back({"by " + other.name.str(), "other", other.error,
                    std::nullopt, other.bytes, std::nullopt});
  if (report.found) {
    const AssignedPrecision &best = report.found->best;
    rows.push_back({"result", "found", best.measured.value_or(0),
                    best.predicted, best.bytes, report.lowNodes});
  }
  return rows;
}

static void printTuningTable(raw_ostream &os, const TuningReport &report,
                             ArrayRef<TuningRow> rows) {
  os << "<table>\n<tr><th>assignment</th><th>error</th><th>predicted</th>"
     << "<th>bytes</th><th>nodes in " << report.precision << "</th></tr>\n";
  for (const TuningRow &row : rows)
    os << "<tr><td>" << row.name << "</td><td>" << formatPlotted(row.error)
       << "</td><td>"
       << (row.predicted ? formatPlotted(*row.predicted) : std::string())
       << "</td><td>" << row.bytes << "</td><td>"
       << (row.lowNodes ? std::to_string(*row.lowNodes) : std::string())
       << "</td></tr>\n";
  os << "<tr><td>fp32</td><td>0</td><td>0</td><td>" << report.f32Bytes
     << "</td><td>0</td></tr>\n</table>\n";
}

void TuningReport::printHTML(StringRef input, raw_ostream &os) const {
  std::string name = llvm::json::fixUTF8(input), title;
  llvm::raw_string_ostream titleOS(title);
  llvm::printHTMLEscaped(name, titleOS);
  title += ": error against bytes in " + precision;
  std::vector<TuningRow> rows = getTuningRows(*this);
  os << "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n"
     << "<meta charset=\"utf-8\">\n"
     << "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src "
     << "'none'; style-src " << getPolicyHash(tuningStyle)
     << "; base-uri 'none'; form-action 'none'\">\n"
     << "<meta name=\"viewport\" content=\"width=device-width, "
     << "initial-scale=1\">\n<title>" << title << "</title>\n<style>"
     << tuningStyle << "</style>\n</head>\n<body>\n<h1>" << title << "</h1>\n"
     << "<p>Errors of the " << (areGradients ? "gradients" : "outputs")
     << " are root mean squares relative to the values in fp32, measured on "
     << batches << (batches == 1 ? " batch" : " batches")
     << " (filled circles) and predicted (empty ones). Bytes are those of all "
     << "float values and casts. Nodes in all: " << nodesTotal << ".</p>\n";
  if (found)
    os << "<p>The target of " << formatPlotted(found->target)
       << " is the dashed line; "
       << (lowNodes ? "the result has an error of "
                    : "nothing but fp32 is within it; the result has an "
                      "error of ")
       << formatPlotted(found->best.measured.value_or(0)) << " after "
       << found->runs << (found->runs == 1 ? " run" : " runs") << ".</p>\n";
  TuningPlot(*this, rows).print(os);
  printTuningTable(os, *this, rows);
  os << "</body>\n</html>\n";
}

} // namespace mp
