//===- Classification.cpp - A class and a reason for every node -----------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Precision/Assignment/Classification.h"

#include "mp-opt/Graph/Casts.h"
#include "mp-opt/Graph/Functions.h"
#include "mp-opt/Precision/Assignment/FloatTypeVariables.h"

using namespace mlir;
using namespace mp::onnxir;

namespace mp {

namespace {

class Classifier {
public:
  Classifier(Operation *scope, const PrecisionPolicy &policy,
             const NodeOverrides &overrides, const ModuleNames &names,
             std::vector<NodeClass> &nodes)
      : scope(scope), policy(policy), overrides(overrides), names(names),
        nodes(nodes) {}

  void run();

private:
  NodeClass applyPolicy(Operation *node);
  PrecisionPolicy::Verdict applyLists(Operation *node);
  StringRef getStructuralReason(Operation *node);
  const NodeClass &classifyComposite(StringAttr name);
  void applyMarks(NodeClass &entry);

  Operation *scope;
  const PrecisionPolicy &policy;
  const NodeOverrides &overrides;
  const ModuleNames &names;
  std::vector<NodeClass> &nodes;
  /// The policy's answer per operator.
  llvm::DenseMap<const void *, PrecisionPolicy::Verdict> verdicts;
  /// The same per op that a composite implements; the nodes are null.
  llvm::DenseMap<StringAttr, NodeClass> composites;
};

} // namespace

NodeClass Classifier::applyPolicy(Operation *node) {
  NodeClass entry{node, OpClass::Follow, {}};
  if (const NodeRule *rule = overrides.lookup(node)) {
    entry.opClass = rule->opClass;
    entry.reason = "node override";
    entry.place = rule->place;
    entry.isOverride = true;
    return entry;
  }
  PrecisionPolicy::Verdict verdict = applyLists(node);
  entry.opClass = verdict.opClass;
  entry.reason = verdict.reason;
  entry.isBuiltin = verdict.isBuiltin;
  entry.place = verdict.place;
  return entry;
}

PrecisionPolicy::Verdict Classifier::applyLists(Operation *node) {
  if (isa<CustomOp>(node))
    return policy.classifyOp(normalizeDomain(getDomain(node)), getOpType(node));
  auto [it, isNew] = verdicts.try_emplace(node->getName().getAsOpaquePointer());
  if (isNew)
    it->second = policy.classifyOp(getDomain(node), getOpType(node));
  PrecisionPolicy::Verdict verdict = it->second;
  // A user's cast to the type in use reads 16 bit without a conversion.
  if (verdict.opClass == OpClass::Deny && isStandardOp(node, "Cast")) {
    Type to = getCastType(node);
    if (to && getElementKind(to) == policy.getLowKind())
      return {OpClass::Follow, "casts to 16 bit", /*isBuiltin=*/true, {}};
  }
  return verdict;
}

static bool isContainer(Type type) {
  return isa<SequenceType, OptionalType, MapType, onnxir::OpaqueType>(type);
}

/// True if the value is yielded: the name of a graph output always stays with
/// an fp32 value.
static bool isYielded(Value value) {
  return llvm::any_of(value.getUsers(),
                      [](Operation *user) { return isa<YieldOp>(user); });
}

StringRef Classifier::getStructuralReason(Operation *node) {
  if (isa<CustomOp>(node)) {
    FunctionOp function = names.functions.lookup(node);
    if (function && isSpecialized(function))
      return {};
    return function ? "function call" : "custom op";
  }
  if (joinsTypes(node))
    return {};
  if (node->getNumRegions())
    return "control flow";
  if (llvm::any_of(node->getOperandTypes(), isContainer) ||
      llvm::any_of(node->getResultTypes(), isContainer))
    return "sequence";
  if (!names.training.empty())
    for (OpResult result : node->getResults())
      if (names.training.contains(getValueName(result)) && !isYielded(result))
        return "named by a training algorithm";
  return {};
}

//===----------------------------------------------------------------------===//
// Safety analyses
//===----------------------------------------------------------------------===//

/// The policy's verdict on the op that a node is part of.
const NodeClass &Classifier::classifyComposite(StringAttr name) {
  auto [it, isNew] = composites.try_emplace(name);
  if (!isNew)
    return it->second;
  auto [domain, opType] = name.getValue().rsplit('.');
  if (opType.empty())
    std::swap(domain, opType);
  PrecisionPolicy::Verdict verdict = policy.classifyOp(domain, opType);
  std::string reason = ("part of a decomposed " + opType).str();
  it->second.opClass = verdict.opClass;
  it->second.reason = StringAttr::get(name.getContext(), reason).getValue();
  return it->second;
}

/// Applies the marks of the analyses, which override every list.
void Classifier::applyMarks(NodeClass &entry) {
  Operation *node = entry.node;
  HazardAttr hazard = getHazard(node);
  CompositeAttr composite = getComposite(node);
  StringRef reason;
  if (node->hasAttr(mark::shapeArithmetic))
    reason = "shape arithmetic";
  else if (hazard)
    reason = hazard.getReason().getValue();
  else if (composite &&
           classifyComposite(composite.getName()).opClass == OpClass::Deny)
    reason = classifyComposite(composite.getName()).reason;
  if (reason.empty()) {
    if (auto proof = node->getAttrOfType<HazardAttr>(mark::harmless);
        proof && entry.opClass != OpClass::Deny)
      entry.reason = proof.getReason().getValue();
    return;
  }
  entry.isBuiltin = false;
  if (entry.opClass == OpClass::Deny)
    return;
  entry.overruled =
      entry.opClass == OpClass::Allow && !node->hasAttr(mark::added);
  entry.opClass = OpClass::Deny;
  entry.reason = reason;
}

void Classifier::run() {
  scope->walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (!isNode(op))
      return;
    NodeClass entry = applyPolicy(op);
    if (StringRef reason = getStructuralReason(op); !reason.empty()) {
      entry.overruled = entry.opClass == OpClass::Allow;
      entry.opClass = OpClass::Deny;
      entry.reason = reason;
      entry.isBuiltin = false;
    } else if (!entry.isOverride) {
      applyMarks(entry);
    }
    nodes.push_back(entry);
  });
}

Classification Classification::compute(Operation *scope,
                                       const PrecisionPolicy &policy,
                                       const NodeOverrides &overrides,
                                       const ModuleNames &names) {
  Classification classification;
  Classifier(scope, policy, overrides, names, classification.nodes).run();
  return classification;
}

} // namespace mp
