//===- Classify.cpp - Give every node a precision class -------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Precision/Passes.h"
#include "mp-opt/Precision/Assignment/PrecisionRemarks.h"

#include "mp-opt/Dialect/ONNX/NodeAttributes.h"
#include "mp-opt/Graph/Casts.h"
#include "mp-opt/Graph/Functions.h"
#include "mp-opt/Precision/Assignment/Classification.h"
#include "mp-opt/Precision/Policy/NodeOverrides.h"
#include "mp-opt/Precision/Policy/PolicyAttribute.h"

namespace mp {
#define GEN_PASS_DEF_CLASSIFY
#include "Precision/Passes.h.inc"
} // namespace mp

using namespace mlir;
using namespace mp;
using namespace mp::onnxir;

namespace {

struct Classify : public mp::impl::ClassifyBase<Classify> {
  using ClassifyBase::ClassifyBase;

  void runOnOperation() override;

private:
  void annotate(const NodeClass &entry);
  void classifyAdapters(const PrecisionPolicy &policy,
                        const NodeOverrides &overrides,
                        const ModuleNames &names);
  void denyCalls();
  void annotateModule(GraphOp graph);

  /// The name of the attribute, looked up once.
  StringAttr classKey;
  /// Reasons of nodes so far, by the address of the text.
  llvm::DenseMap<std::pair<const char *, unsigned>, StringAttr> reasons;
};

} // namespace

void Classify::annotate(const NodeClass &entry) {
  MLIRContext *context = &getContext();
  // Texts have stable addresses, one for many nodes.
  StringAttr &reason =
      reasons[{entry.reason.data(), unsigned(entry.reason.size())}];
  if (!reason)
    reason = StringAttr::get(context, entry.reason);
  bool isRequested = !entry.place.empty();
  auto held = ClassAttr::get(
      context, entry.opClass, reason,
      isRequested ? StringAttr::get(context, entry.place) : StringAttr(),
      isRequested && entry.overruled ? reason : StringAttr(), entry.isBuiltin,
      entry.isOverride && !entry.overruled);
  setAttributes(entry.node, {{classKey, held}});
  if (entry.overruled)
    emitPrecisionRemark(entry.node, RemarkOutcome::Missed, "f32", entry.reason);
}

void Classify::annotateModule(GraphOp graph) {
  Builder builder(&getContext());
  YieldOp yield = getYield(graph.getBody());
  ModuleOp module = getOperation();
  module->setAttr(mark::inputTypes,
                  builder.getTypeArrayAttr(SmallVector<Type>(
                      graph.getBody().front().getArgumentTypes())));
  module->setAttr(
      mark::outputTypes,
      builder.getTypeArrayAttr(SmallVector<Type>(
          yield ? TypeRange(yield->getOperandTypes()) : TypeRange())));
}

/// Gives nodes that were made by raising the opset the classes of the user's
/// list, which makes their classes the same in the next run.
void Classify::classifyAdapters(const PrecisionPolicy &policy,
                                const NodeOverrides &overrides,
                                const ModuleNames &names) {
  for (Operation *scope : getScopes(getOperation())) {
    auto classes = Classification::compute(scope, policy, overrides, names);
    for (const NodeClass &entry : classes.getNodes())
      if (entry.node->hasAttr(mark::adapter) && !entry.isBuiltin)
        annotate(entry);
  }
}

/// Applies the user's rules for calls to the functions' bodies: a clone whose
/// call is denied is denied, too.
void Classify::denyCalls() {
  FunctionTable functions(getOperation());
  Builder builder(&getContext());
  SmallVector<Operation *> calls;
  auto denied = ClassAttr::get(
      &getContext(), OpClass::Deny,
      builder.getStringAttr("in a function whose call is denied"));
  auto isDenied = [](Operation *op) { return hasClass(op, OpClass::Deny); };
  for (Operation *scope : getScopes(getOperation()))
    scope->walk([&](CustomOp call) {
      if (isDenied(call))
        calls.push_back(call);
    });
  llvm::DenseSet<Operation *> seen;
  while (!calls.empty()) {
    FunctionOp function = functions.lookup(calls.pop_back_val());
    if (!function || !isSpecialized(function) || !seen.insert(function).second)
      continue;
    function->walk([&](Operation *op) {
      if (!isNode(op) || isDenied(op))
        return;
      // Keep the user's request for the op and its refusal.
      ClassAttr old = getClass(op);
      op->setAttr(mark::opClass,
                  old ? ClassAttr::get(&getContext(), OpClass::Deny,
                                       denied.getReason(), old.getRequestedBy(),
                                       old.getDeniedBy(), false,
                                       old.getIsOverride())
                      : denied);
      if (isa<CustomOp>(op))
        calls.push_back(op);
    });
  }
}

void Classify::runOnOperation() {
  ModuleOp module = getOperation();
  // Existing classes are kept: a second run only classifies nodes that raising
  // the opset has made.
  bool isFirst = !module->hasAttr(mark::inputTypes);
  if (!isFirst && !module->hasAttr(mark::adapter))
    return;
  FailureOr<PrecisionPolicy> policy = readPolicy(module);
  if (failed(policy))
    return signalPassFailure();
  auto overrides = NodeOverrides::compute(module, policy->getOptions());
  if (failed(overrides))
    return signalPassFailure();
  ModuleNames names(module);
  classKey = StringAttr::get(&getContext(), mark::opClass);
  reasons.clear();
  if (!isFirst)
    return classifyAdapters(*policy, *overrides, names);
  for (Operation *scope : getScopes(module)) {
    auto classes = Classification::compute(scope, *policy, *overrides, names);
    for (const NodeClass &entry : classes.getNodes())
      annotate(entry);
    if (auto graph = dyn_cast<GraphOp>(scope))
      annotateModule(graph);
  }
  denyCalls();
}
