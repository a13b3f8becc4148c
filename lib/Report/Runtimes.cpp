//===- Runtimes.cpp - Runtimes for a mixed model --------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// onnxruntime's CPU provider runs fp16 by inserting casts around fp32 kernels,
// but does not do this for bf16: it cannot load a model with a node that
// computes in bf16. Kernels that move elements, and Cast, support every type. A
// test loads a model of each kind. Unknown operators must be registered; mp-run
// supports none.
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Report/ReportForms.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace mp {

RuntimeSupport findRuntimes(const PrecisionReport &report, const RunInfo &run) {
  RuntimeSupport support;
  if (run.isCode)
    return support;
  const WorkSummary &work = report.work;
  // Only training builds contain optimizer nodes.
  std::string runtime =
      work.hasOptimizerNodes ? "onnxruntime-training" : "onnxruntime";
  std::string condition;
  if (work.customOps.empty())
    support.runsIn.push_back("mp-run");
  else
    condition = " with " + llvm::join(work.customOps, " and ");
  bool hasBF16 =
      report.precision == "bf16" && work.computing && !run.isEmulated;
  if (!hasBF16) {
    support.runsIn.push_back(runtime + condition);
    return support;
  }
  support.runsIn.push_back(runtime +
                           (work.hasOptimizerNodes
                                ? "'s CUDA provider"
                                : "'s CUDA and TensorRT providers") +
                           condition + " as far as there are bf16 kernels");
  support.notIn = runtime + "'s CPU provider";
  support.reason = "has no bf16";
  support.remedies = {"--emulate", "--mixed-fp16"};
  return support;
}

void printRuntimes(const RuntimeSupport &support, raw_ostream &os) {
  if (support.runsIn.empty())
    return;
  std::string line = "runs in: " + llvm::join(support.runsIn, ", ");
  constexpr size_t columns = 80;
  os << (line.size() < columns
             ? line
             : "runs in: " + llvm::join(support.runsIn, ",\n  "));
  if (!support.notIn.empty())
    os << ";\n  " << support.notIn << " " << support.reason << ": "
       << llvm::join(support.remedies, " or ");
  os << "\n";
}

void writeRuntimes(const RuntimeSupport &support, llvm::json::OStream &json) {
  auto list = [&](StringRef key, ArrayRef<std::string> texts) {
    json.attributeArray(key, [&] {
      for (const std::string &text : texts)
        json.value(text);
    });
  };
  json.attributeObject("runtimes", [&] {
    list("runs_in", support.runsIn);
    json.attributeArray("not_in", [&] {
      if (support.notIn.empty())
        return;
      json.object([&] {
        json.attribute("runtime", support.notIn);
        json.attribute("reason", support.reason);
        list("remedies", support.remedies);
      });
    });
  });
}

} // namespace mp
