//===- WorkForms.cpp - Work and reasons as table and as JSON --------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "WorkForms.h"

#include "mp-opt/Report/ReportForms.h"
#include "mp-opt/Support/ShownText.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"

using namespace mlir;

namespace mp {

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

static constexpr size_t terminalWidth = 80;

std::string formatShare(const Work &work) {
  std::string text;
  // A share below 100 % must not be rounded to 100 %.
  double percent = 100 * work.getShare();
  if (work.low < work.total)
    percent = std::min(percent, 99.9);
  llvm::raw_string_ostream(text) << llvm::format("%.1f %%", percent);
  return text;
}

std::string formatCount(uint64_t count) {
  constexpr StringLiteral units[] = {"", " k", " M", " G", " T", " P", " E"};
  double number = double(count);
  unsigned unit = 0;
  for (; number >= 999.5 && unit + 1 < std::size(units); ++unit)
    number /= 1000;
  std::string text;
  llvm::raw_string_ostream(text)
      << llvm::format(unit ? "%.3g" : "%.0f", number) << units[unit];
  return text;
}

void printWrapped(StringRef text, size_t indent, raw_ostream &os) {
  std::string shown = escapeText(text);
  SmallVector<StringRef> words;
  StringRef(shown).split(words, ' ', -1, /*KeepEmpty=*/false);
  os << std::string(indent, ' ');
  size_t column = indent;
  for (auto [index, word] : llvm::enumerate(words)) {
    bool fits = column + 1 + word.size() <= terminalWidth;
    std::string space = !index ? ""
                        : fits ? " "
                               : "\n" + std::string(indent + 2, ' ');
    column = (fits ? column + space.size() : indent + 2) + word.size();
    os << space << word;
  }
  os << "\n";
}

static void printPhases(const WorkSummary &work, StringRef precision,
                        raw_ostream &os) {
  os << llvm::format("  %-10s %13s  in %4s %10s %5s %5s %6s %6s\n", "phase",
                     "multiply-adds", precision.str().c_str(),
                     "nodes:", precision.str().c_str(), "fp32", "other",
                     "casts");
  for (auto [name, phase] : llvm::zip(phaseNames, work.phases)) {
    std::string share = phase.total ? formatShare(phase) : "-";
    os << llvm::format("  %-10s %13s %8s %16lld %5lld %6lld %6lld\n",
                       name.data(), formatCount(phase.total).c_str(),
                       share.c_str(), static_cast<long long>(phase.nodesLow),
                       static_cast<long long>(phase.nodesF32),
                       static_cast<long long>(phase.nodesOther),
                       static_cast<long long>(phase.casts));
  }
}

static std::string listOps(ArrayRef<std::string> ops) {
  constexpr size_t most = 3;
  std::string text = llvm::join(ops.take_front(most), ", ");
  return ops.size() > most ? text + ", ..." : text;
}

static void printKept(const WorkSummary &work, StringRef precision,
                      raw_ostream &os) {
  constexpr size_t most = 3;
  constexpr double minShare = 0.01;
  if (!work.isLittle() || work.kept.empty())
    return;
  os << "what is not " << precision << ", and why\n";
  for (const KeptWork &kept : ArrayRef(work.kept).take_front(most)) {
    std::string text;
    if (work.all.total) {
      Work share;
      share.low = kept.multiplyAdds;
      share.total = work.all.total;
      if (&kept != &work.kept.front() && share.getShare() < minShare)
        break;
      text = formatShare(share) + " of the work, ";
    }
    text += std::to_string(kept.nodes) +
            (kept.nodes == 1 ? " node (" : " nodes (") + listOps(kept.ops) +
            "): " + kept.reason;
    if (!kept.remedy.empty())
      text += "; try " + kept.remedy;
    printWrapped(text, 2, os);
  }
}

void printWorkShare(const WorkSummary &work, StringRef precision,
                    raw_ostream &os) {
  std::string name = "multiply-adds in " + precision.str();
  std::string unknown =
      std::to_string(work.unknownNodes) +
      (work.unknownNodes == 1 ? " node unknown" : " nodes unknown");
  if (work.all.total)
    os << llvm::format(
        "  %-28s %12s of %s%s\n", name.c_str(), formatShare(work.all).c_str(),
        formatCount(work.all.total).c_str(),
        work.unknownNodes ? (" of what is known; " + unknown).c_str() : "");
  else if (work.unknownNodes)
    os << llvm::format("  %-28s %12s\n", name.c_str(), unknown.c_str());
}

void printWork(const WorkSummary &work, StringRef precision, raw_ostream &os) {
  if (work.trains)
    printPhases(work, precision, os);
  printKept(work, precision, os);
}

//===----------------------------------------------------------------------===//
// JSON
//===----------------------------------------------------------------------===//

static void writeWork(llvm::json::OStream &json, StringRef precision,
                      const Work &work) {
  json.attributeObject("multiply_adds", [&] {
    json.attribute(precision, work.low);
    json.attribute("all", work.total);
  });
  json.attributeObject("nodes", [&] {
    json.attribute(precision, work.nodesLow);
    json.attribute("fp32", work.nodesF32);
    json.attribute("other", work.nodesOther);
  });
  json.attribute("casts", work.casts);
}

void writeWork(const WorkSummary &work, StringRef precision,
               llvm::json::OStream &json) {
  json.attributeObject("multiply_adds", [&] {
    json.attribute(precision, work.all.low);
    json.attribute("all", work.all.total);
    json.attribute("nodes_of_unknown_work", work.unknownNodes);
  });
  if (work.trains)
    json.attributeObject("phases", [&] {
      for (auto [name, phase] : llvm::zip(phaseNames, work.phases))
        json.attributeObject(
            name, [&, &phase = phase] { writeWork(json, precision, phase); });
    });
  json.attributeArray("kept", [&] {
    for (const KeptWork &kept : work.kept)
      json.object([&] {
        json.attribute("reason", toJSON(kept.reason));
        json.attribute("remedy", kept.remedy.empty()
                                     ? llvm::json::Value(nullptr)
                                     : toJSON(kept.remedy));
        json.attributeArray("ops", [&] {
          for (const std::string &op : kept.ops)
            json.value(toJSON(op));
        });
        json.attribute("nodes", kept.nodes);
        json.attribute("multiply_adds", kept.multiplyAdds);
      });
  });
}

} // namespace mp
