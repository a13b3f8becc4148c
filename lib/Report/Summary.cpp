//===- Summary.cpp - Summary of a run as table and JSON -------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ErrorForms.h"
#include "WorkForms.h"

#include "mp-opt/Precision/Analysis/FloatSignature.h"
#include "mp-opt/Report/ReportForms.h"

#include "llvm/Support/Format.h"
#include "llvm/Support/MathExtras.h"

#include <map>

using namespace mlir;
using namespace mp::onnxir;

namespace mp {

llvm::json::Value toJSON(StringRef text) {
  if (llvm::json::isUTF8(text))
    return text;
  return llvm::json::fixUTF8(text);
}

namespace {

struct Counts {
  int64_t low = 0, f32 = 0, other = 0;

  void add(const ReportNode &node) {
    ++(node.state == ReportNode::Low   ? low
       : node.state == ReportNode::F32 ? f32
                                       : other);
  }
};

/// Nodes with one reason.
struct ReasonTotal {
  int64_t nodes = 0;
  uint64_t multiplyAdds = 0;
  /// The bytes, for reasons that mention a cost.
  std::optional<int64_t> bytes;

  void add(const ReportNode &node) {
    ++nodes;
    multiplyAdds =
        llvm::SaturatingAdd(multiplyAdds, node.multiplyAdds.value_or(0));
    if (node.cost)
      bytes = bytes.value_or(0) + *node.cost;
  }
};

} // namespace

void printSummary(const PrecisionReport &report, const RunInfo &run,
                  raw_ostream &os) {
  auto row = [&](const Twine &name, int64_t value) {
    os << llvm::format("  %-28s %12lld\n", name.str().c_str(),
                       static_cast<long long>(value));
  };
  auto change = [&](StringRef name, uint64_t before, uint64_t after) {
    os << llvm::format("  %-28s %12llu -> %llu\n", name.str().c_str(),
                       static_cast<unsigned long long>(before),
                       static_cast<unsigned long long>(after));
  };
  os << "mixed precision (" << report.precision << ")\n";
  printWorkShare(report.work, report.precision, os);
  row("nodes in " + report.precision, report.nodesLow);
  row("nodes in fp32", report.nodesF32);
  row("other nodes", report.nodesOther);
  if (report.work.lowBefore)
    row(report.precision + " in the source", report.work.lowBefore);
  row("casts inserted", report.castsInserted);
  row("casts removed again", report.castsRemoved);
  if (report.isMarked) {
    row("casts left", report.after.castsToLow + report.after.castsToF32);
    row("bytes moved by casts", report.after.castBytes);
  }
  change("bytes of weights", run.before.weights, report.after.weights);
  change("bytes of activations", run.before.activations,
         report.after.activations);
  if (run.before.saved)
    change("bytes kept for backward", run.before.saved, report.after.saved);
  if (report.elementsToZero)
    row("weights rounded to zero", report.elementsToZero);
  if (report.masksClamped)
    row("mask constants clamped", report.masksClamped);
  if (run.before.opset != report.after.opset)
    change("opset", run.before.opset, report.after.opset);
  run.ports.print(os);
  if (!report.isMarked)
    return;
  printWork(report.work, report.precision, os);
  printRuntimes(findRuntimes(report, run), os);
  printAdvice(report, run, os);
}

//===----------------------------------------------------------------------===//
// JSON
//===----------------------------------------------------------------------===//

static void writeCounts(llvm::json::OStream &json,
                        const PrecisionReport &report, const Counts &counts) {
  json.attribute(report.precision, counts.low);
  json.attribute("fp32", counts.f32);
  json.attribute("other", counts.other);
}

static void writeNodes(llvm::json::OStream &json,
                       const PrecisionReport &report) {
  Counts all{report.nodesLow, report.nodesF32, report.nodesOther};
  json.attributeObject("nodes", [&] { writeCounts(json, report, all); });
  std::map<std::string, Counts> byOp;
  std::map<std::pair<std::string, std::string>, ReasonTotal> reasons;
  for (const ReportNode &node : report.nodes) {
    if (node.isInsertedCast)
      continue;
    byOp[getQualifiedName(node.domain, node.opType)].add(node);
    StringRef reason = node.group.empty() ? node.classReason : node.group;
    if (node.state != ReportNode::Other)
      reasons[{report.getPrecision(node).str(), reason.str()}].add(node);
  }
  json.attributeObject("ops", [&] {
    for (const auto &[op, counts] : byOp)
      json.attributeObject(
          toJSON(op).getAsString().value(),
          [&, &counts = counts] { writeCounts(json, report, counts); });
  });
  using Entry = std::pair<std::pair<std::string, std::string>, ReasonTotal>;
  std::vector<Entry> top(reasons.begin(), reasons.end());
  llvm::stable_sort(top, [](const Entry &lhs, const Entry &rhs) {
    return lhs.second.nodes > rhs.second.nodes;
  });
  constexpr size_t limit = 50;
  if (top.size() > limit)
    top.resize(limit);
  json.attributeArray("reasons", [&] {
    for (const auto &[key, total] : top)
      json.object([&, &key = key, &total = total] {
        json.attribute("precision", key.first == "f32" ? "fp32" : key.first);
        json.attribute("reason", toJSON(key.second));
        json.attribute("nodes", total.nodes);
        json.attribute("multiply_adds", total.multiplyAdds);
        if (total.bytes)
          json.attribute("bytes", *total.bytes);
      });
  });
}

static void writeSizes(llvm::json::OStream &json, const PrecisionReport &report,
                       const ModelSize &before) {
  const ModelSize &after = report.after;
  auto change = [&](StringRef name, auto from, auto to) {
    json.attributeObject(name, [&] {
      json.attribute("before", from);
      json.attribute("after", to);
    });
  };
  json.attributeObject("bytes", [&] {
    change("weights", before.weights, after.weights);
    if (before.saved)
      change("kept_for_backward", before.saved, report.after.saved);
    json.attributeObject("activations", [&] {
      json.attribute("before", before.activations);
      json.attribute("after", after.activations);
      json.attribute("values", after.values);
      json.attribute("values_with_unknown_dims", after.dynamicValues);
      json.attribute("values_of_unknown_size", after.unknownValues);
      json.attribute("unknown_dim_counted_as", defaultDimension);
    });
  });
  change("opset", before.opset, after.opset);
  change("ir_version", before.irVersion, after.irVersion);
}

static void writeCasts(llvm::json::OStream &json,
                       const PrecisionReport &report) {
  json.attributeObject("casts", [&] {
    json.attribute("inserted", report.castsInserted);
    json.attribute("removed", report.castsRemoved);
    json.attributeObject("left", [&] {
      json.attribute("to_" + report.precision, report.after.castsToLow);
      json.attribute("to_fp32", report.after.castsToF32);
    });
    json.attribute("bytes_moved", report.after.castBytes);
  });
}

static void writePrecision(llvm::json::OStream &json,
                           const PrecisionReport &report, const RunInfo &run) {
  json.attribute("precision", report.precision);
  run.ports.write(json);
  if (report.isMarked)
    writeRuntimes(findRuntimes(report, run), json);
  writeWork(report.work, report.precision, json);
  writeErrors(report, json);
  writeNodes(json, report);
  writeCasts(json, report);
  writeSizes(json, report, run.before);
  json.attributeArray("savings", [&] {
    for (const Saving &saving : report.getSavings(10))
      json.object([&] {
        json.attribute("op", toJSON(saving.op));
        json.attribute("nodes", saving.nodes);
        json.attribute("following_nodes", saving.following);
        json.attribute("bytes", saving.bytes);
        json.attribute("needs_opset", saving.opset
                                          ? llvm::json::Value(saving.opset)
                                          : llvm::json::Value(nullptr));
      });
  });
  json.attribute("weights_rounded_to_zero", report.elementsToZero);
  json.attribute("mask_constants_clamped", report.masksClamped);
}

void printSummaryJSON(const PrecisionReport *report, const RunInfo &run,
                      raw_ostream &os) {
  llvm::json::OStream json(os, /*IndentSize=*/2);
  json.object([&] {
    json.attribute("schema_version", reportSchemaVersion);
    json.attributeObject("tool", [&] {
      json.attribute("name", "mp-opt");
      json.attribute("version", run.version);
    });
    json.attribute("input", toJSON(run.input));
    json.attribute("output", run.output.empty() ? llvm::json::Value(nullptr)
                                                : toJSON(run.output));
    if (report)
      writePrecision(json, *report, run);
    if (!run.parameters.empty())
      writeParameters(run.parameters, json);
    json.attributeArray("warnings", [&] {
      for (const std::string &warning : run.warnings)
        json.value(toJSON(warning));
    });
  });
  os << "\n";
}

} // namespace mp
