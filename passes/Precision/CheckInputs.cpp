//===- CheckInputs.cpp - Warn of squares of unknown inputs ----------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Precision/Passes.h"

#include "mp-opt/Graph/Casts.h"
#include "mp-opt/Precision/Analysis/UnboundedInputs.h"

#include "llvm/Support/Regex.h"

namespace mp {
#define GEN_PASS_DEF_CHECKINPUTS
#include "Precision/Passes.h.inc"
} // namespace mp

using namespace mlir;
using namespace mp;
using namespace mp::onnxir;

namespace {

struct CheckInputs : public mp::impl::CheckInputsBase<CheckInputs> {
  using CheckInputsBase::CheckInputsBase;

  void runOnOperation() override;
};

} // namespace

/// As many nodes as a line has room for, described and as a pattern.
static constexpr size_t maxNamed = 3, maxRules = 12;

/// The name by which --deny-node knows a node.
static StringRef getRuleName(Operation *node) {
  StringRef name = getNodeName(node);
  return name.empty() ? getValueName(node->getResult(0)) : name;
}

static void warn(GraphOp graph, ArrayRef<UnboundedPower> powers) {
  std::string names, rules;
  for (const UnboundedPower &power : powers.take_front(maxNamed))
    names += (names.empty() ? "" : ", ") + describe(power.node) + " of '" +
             getValueName(power.input).str() + "'";
  for (const UnboundedPower &power : powers)
    rules += (rules.empty() ? "" : "|") +
             llvm::Regex::escape(getRuleName(power.node));
  InFlightDiagnostic diag = graph.emitWarning();
  diag << "squares or long sums of inputs of unknown range are in fp16, which "
          "ends at 65504: "
       << names;
  if (powers.size() > maxNamed)
    diag << " and " << powers.size() - maxNamed << " more";
  if (powers.size() <= maxRules)
    diag << "; --deny-node='" << rules << "' keeps them fp32";
  else
    diag << "; --deny-node with a pattern for their names keeps them fp32";
}

void CheckInputs::runOnOperation() {
  ModuleOp module = getOperation();
  Type type = getLowType(module);
  // bf16 has the range of fp32.
  if (!type || !type.isF16())
    return;
  constexpr ElementKind low = ElementKind::Float16;
  for (auto graph : module.getOps<GraphOp>()) {
    ConstantRange constants(low);
    RangeAnalysis ranges(constants);
    std::vector<UnboundedPower> powers = findUnboundedPowers(graph, ranges);
    if (!powers.empty())
      warn(graph, powers);
  }
}
