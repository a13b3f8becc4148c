//===- CheckInputs.cpp - Warn of squares of unknown inputs ----------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Precision/Passes.h"

#include "mp-opt/Graph/Casts.h"
#include "mp-opt/Graph/Functions.h"
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

/// The numbers of nodes that fit into a line, described and as a pattern.
static constexpr size_t maxNamed = 3, maxRules = 12;

/// The name of a node for --deny-node.
static StringRef getRuleName(Operation *node) {
  StringRef name = getNodeName(node);
  return name.empty() ? getValueName(node->getResult(0)) : name;
}

/// "node 'a' (Mul-14), node 'b' (Mul-14) and 2 more".
static std::string listNodes(ArrayRef<Operation *> nodes,
                             function_ref<std::string(size_t)> describeNode) {
  std::string names;
  for (size_t index = 0; index < std::min(nodes.size(), maxNamed); ++index)
    names += (index ? ", " : "") + describeNode(index);
  if (nodes.size() > maxNamed)
    names += " and " + std::to_string(nodes.size() - maxNamed) + " more";
  return names;
}

/// Advice on options that keep the nodes fp32.
static std::string adviseRules(ArrayRef<Operation *> nodes) {
  if (nodes.size() > maxRules)
    return "; --deny-node with a pattern for their names keeps them fp32";
  std::string rules;
  for (Operation *node : nodes)
    rules +=
        (rules.empty() ? "" : "|") + llvm::Regex::escape(getRuleName(node));
  return "; --deny-node='" + rules + "' keeps them fp32";
}

static void warnOfPowers(GraphOp graph, ArrayRef<UnboundedPower> powers) {
  auto nodes = llvm::map_to_vector(
      powers, [](const UnboundedPower &power) { return power.node; });
  graph.emitWarning()
      << "squares or long sums of inputs of unknown range are in fp16, which "
         "ends at 65504: "
      << listNodes(nodes,
                   [&](size_t index) {
                     return describe(nodes[index]) + " of '" +
                            getValueName(powers[index].input).str() + "'";
                   })
      << adviseRules(nodes);
}

/// Products that a reader wants in fp32 and that cost too much.
static void warnOfCostly(ModuleOp module, Type low) {
  SmallVector<Operation *> nodes;
  for (Operation *scope : getScopes(module))
    scope->walk([&](Operation *op) {
      if (op->hasAttr(mark::costly) && getPrecisionType(op) == low)
        nodes.push_back(op);
    });
  if (nodes.empty())
    return;
  auto reason = nodes.front()->getAttrOfType<HazardAttr>(mark::costly);
  module.emitWarning()
      << "products are in " << getPrecisionName(low)
      << ", as they take more than a tenth of the multiply-adds, though their "
         "readers magnify errors: "
      << listNodes(nodes, [&](size_t index) { return describe(nodes[index]); })
      << " (" << reason.getReason().getValue() << ")" << adviseRules(nodes);
}

void CheckInputs::runOnOperation() {
  ModuleOp module = getOperation();
  Type type = getLowType(module);
  if (!type)
    return;
  warnOfCostly(module, type);
  // bf16 has the range of fp32.
  if (!type.isF16())
    return;
  constexpr ElementKind low = ElementKind::Float16;
  for (auto graph : module.getOps<GraphOp>()) {
    ConstantRange constants(low);
    RangeAnalysis ranges(constants);
    std::vector<UnboundedPower> powers = findUnboundedPowers(graph, ranges);
    // The ranges of values in data are known.
    llvm::erase_if(powers, [](const UnboundedPower &power) {
      return power.node->hasAttr(mark::observed);
    });
    if (!powers.empty())
      warnOfPowers(graph, powers);
  }
}
