//===- Classification.cpp - A class and a reason for every node -----------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Precision/Classification.h"

#include "mp-opt/Precision/Casts.h"
#include "mp-opt/Precision/Constants.h"
#include "mp-opt/Precision/Functions.h"
#include "mp-opt/Precision/TypeSlots.h"

using namespace mlir;
using namespace mp::onnxir;

namespace mp {

StringSet<> collectTrainingNames(ModuleOp module) {
  StringSet<> names;
  auto addStrings = [&](Attribute attribute) {
    attribute.walk([&](StringAttr text) { names.insert(text.getValue()); });
  };
  for (auto training : module.getOps<TrainingOp>())
    training->walk([&](Operation *op) { addStrings(op->getAttrDictionary()); });
  return names;
}

namespace {

class Classifier {
public:
  Classifier(Operation *scope, PrecisionPolicy &policy,
             std::vector<NodeClass> &nodes)
      : scope(scope), policy(policy), nodes(nodes),
        functions(scope->getParentOfType<ModuleOp>()) {}

  LogicalResult run();

private:
  void collectNames();
  FailureOr<PrecisionPolicy::Verdict> applyPolicy(Operation *node);
  StringRef getStructuralReason(Operation *node);
  void markShapeArithmetic();
  bool computesShape(const NodeClass &entry);
  bool isShapeUse(OpOperand &use);

  Operation *scope;
  PrecisionPolicy &policy;
  std::vector<NodeClass> &nodes;
  FunctionTable functions;
  StringSet<> trainingNames;
  /// The policy's answer per operator.
  llvm::DenseMap<const void *, PrecisionPolicy::Verdict> verdicts;
  llvm::DenseSet<Operation *> shapeNodes;
};

} // namespace

void Classifier::collectNames() {
  auto module = scope->getParentOfType<ModuleOp>();
  if (!module)
    return;
  trainingNames = collectTrainingNames(module);
}

FailureOr<PrecisionPolicy::Verdict> Classifier::applyPolicy(Operation *node) {
  if (policy.hasNodePatterns()) {
    auto verdict = policy.classifyNode(getNodeName(node), [&] {
      return node->emitError() << describe(node) << ": ";
    });
    if (failed(verdict))
      return failure();
    if (*verdict)
      return **verdict;
  }
  if (isa<CustomOp>(node))
    return policy.classifyOp(normalizeDomain(getDomain(node)), getOpType(node));
  auto [it, isNew] = verdicts.try_emplace(node->getName().getAsOpaquePointer());
  if (isNew)
    it->second = policy.classifyOp(getDomain(node), getOpType(node));
  PrecisionPolicy::Verdict verdict = it->second;
  // A user's cast to the type in use reads 16 bit as it is.
  if (verdict.opClass == OpClass::Deny && isStandardOp(node, "Cast")) {
    Type to = getCastType(node);
    if (to && getElementKind(to) == policy.getLowKind())
      return PrecisionPolicy::Verdict{OpClass::Follow, "casts to 16 bit",
                                      /*isBuiltin=*/true};
  }
  return verdict;
}

static bool isContainer(Type type) {
  return isa<SequenceType, OptionalType, MapType, onnxir::OpaqueType>(type);
}

/// The name of a graph's output stays with an fp32 value in any case.
static bool isYielded(Value value) {
  return llvm::any_of(value.getUsers(),
                      [](Operation *user) { return isa<YieldOp>(user); });
}

StringRef Classifier::getStructuralReason(Operation *node) {
  if (isa<CustomOp>(node)) {
    FunctionOp function = functions.lookup(node);
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
  if (!trainingNames.empty())
    for (OpResult result : node->getResults())
      if (trainingNames.contains(getValueName(result)) && !isYielded(result))
        return "named by a training algorithm";
  return {};
}

//===----------------------------------------------------------------------===//
// Shape arithmetic
//===----------------------------------------------------------------------===//

bool Classifier::isShapeUse(OpOperand &use) {
  Operation *user = use.getOwner();
  if (isStandardOp(user, "Cast")) {
    Type to = getCastType(user);
    return to && to.isIntOrIndex();
  }
  return isShapeOperand(getDomain(user), getOpType(user),
                        use.getOperandNumber()) ||
         shapeNodes.contains(user);
}

bool Classifier::computesShape(const NodeClass &entry) {
  // What leaves a contraction is data, even if it is quantized in the end.
  if (entry.opClass == OpClass::Allow || isConstant(entry.node))
    return false;
  bool hasUse = false;
  for (OpResult result : entry.node->getResults()) {
    if (!isF32Tensor(result.getType()))
      continue;
    for (OpOperand &use : result.getUses()) {
      hasUse = true;
      if (!isShapeUse(use))
        return false;
    }
  }
  return hasUse;
}

void Classifier::markShapeArithmetic() {
  // Uses come after definitions, so one way back sees all of them.
  for (NodeClass &entry : llvm::reverse(nodes)) {
    if (!computesShape(entry))
      continue;
    shapeNodes.insert(entry.node);
    if (entry.opClass == OpClass::Deny)
      continue;
    entry.opClass = OpClass::Deny;
    entry.reason = "shape arithmetic";
    entry.isBuiltin = false;
  }
}

LogicalResult Classifier::run() {
  collectNames();
  WalkResult result = scope->walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (!isNode(op))
      return WalkResult::advance();
    FailureOr<PrecisionPolicy::Verdict> verdict = applyPolicy(op);
    if (failed(verdict))
      return WalkResult::interrupt();
    NodeClass entry{op, verdict->opClass, verdict->reason, verdict->isBuiltin};
    if (StringRef reason = getStructuralReason(op); !reason.empty()) {
      entry.overruled = entry.opClass == OpClass::Allow;
      entry.opClass = OpClass::Deny;
      entry.reason = reason;
      entry.isBuiltin = false;
    } else if (auto hazard = op->getAttrOfType<StringAttr>(mark::hazard);
               hazard && entry.reason != "node override") {
      entry.overruled = entry.opClass == OpClass::Allow;
      entry.opClass = OpClass::Deny;
      entry.reason = hazard.getValue();
      entry.isBuiltin = false;
    }
    nodes.push_back(entry);
    return WalkResult::advance();
  });
  if (result.wasInterrupted())
    return failure();
  markShapeArithmetic();
  return success();
}

FailureOr<Classification> Classification::compute(Operation *scope,
                                                  PrecisionPolicy &policy) {
  Classification classification;
  if (failed(Classifier(scope, policy, classification.nodes).run()))
    return failure();
  return classification;
}

} // namespace mp
