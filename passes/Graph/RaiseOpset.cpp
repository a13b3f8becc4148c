//===- RaiseOpset.cpp - Raise the opset of a model ------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Graph/Passes.h"

#include "mp-opt/Dialect/ONNX/GraphEditor.h"
#include "mp-opt/Graph/Casts.h"
#include "mp-opt/Graph/Functions.h"
#include "mp-opt/Graph/OpsetUpgrade.h"
#include "mp-opt/Precision/Analysis/FloatSignature.h"
#include "mp-opt/Precision/Assignment/PrecisionRemarks.h"
#include "mp-opt/Precision/Policy/InterfaceTypes.h"
#include "mp-opt/Precision/Policy/Policy.h"

#include <map>

namespace mp {
#define GEN_PASS_DEF_RAISEOPSET
#include "Graph/Passes.h.inc"
} // namespace mp

using namespace mlir;
using namespace mp;
using namespace mp::onnxir;

namespace {

struct RaiseOpset : public mp::impl::RaiseOpsetBase<RaiseOpset> {
  using RaiseOpsetBase::RaiseOpsetBase;

  void runOnOperation() override;

private:
  void raiseTo(int64_t opset);
  void raiseAsNeeded(Type lowType);
  void noteObstacle(int opset, StringRef reason);
};

/// The first allowed node that needs an opset, for each opset.
using NeededOpsets = std::map<int, Operation *>;

} // namespace

static void collectNeeded(Operation *scope, ElementKind low,
                          NeededOpsets &needed) {
  SchemaCache schemas(scope);
  scope->walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (!hasClass(op, OpClass::Allow))
      return;
    const SchemaCache::Entry &entry = schemas.lookup(op);
    FloatSignature signature(op, entry.schema);
    if (!signature || !entry.schema->domain.empty() || entry.isExtension ||
        signature.getKind() != ElementKind::Float ||
        !signature.getObstacle().empty() || signature.admits(low))
      return;
    if (int opset = signature.getFirstOpset(*entry.family, low))
      needed.try_emplace(opset, op);
  });
}

/// Inputs and outputs that --io changes are cast to and from their new types.
static void collectInterfaceNeeds(ModuleOp module, NeededOpsets &needed) {
  InterfaceTypes interface(module);
  auto *dialect = module.getContext()->getLoadedDialect<ONNXDialect>();
  const OpFamily *family = dialect->getSchemas().lookup("", "Cast");
  const OpSchema *now = getSchemaAt(*family, getOpset(module, ""));
  auto admits = [](const OpSchema &schema, ElementKind kind) {
    return schema.typesOf(schema.outputs[0]).containsTensor(kind);
  };
  for (Type type : interface.getTypes())
    for (const std::unique_ptr<OpSchema> &version : family->getVersions()) {
      ElementKind kind = getElementKind(type);
      if (admits(*now, kind) || !admits(*version, kind))
        continue;
      needed.try_emplace(version->since, getMainGraph(module));
      break;
    }
}

static bool hasInPlaceOps(GraphOp graph) {
  return graph
      ->walk([](Operation *op) {
        return getOperatorTraits(op).hasRole(OperandRole::InPlace)
                   ? WalkResult::interrupt()
                   : WalkResult::advance();
      })
      .wasInterrupted();
}

void RaiseOpset::raiseTo(int64_t opset) {
  ModuleOp module = getOperation();
  auto &dialect = *getContext().getLoadedDialect<ONNXDialect>();
  int64_t newest = dialect.getSchemas().getNewestOpset(domain);
  int64_t current = getOpset(module, domain).value_or(0);
  if (opset < current || (newest && opset > newest)) {
    module.emitError() << "cannot raise opset " << current << " to " << opset
                       << (opset < current ? ", which is lower"
                                           : ", which is not known");
    return signalPassFailure();
  }
  if (auto obstacle = findUpgradeObstacle(module, domain, opset)) {
    obstacle->node->emitError()
        << describe(obstacle->node) << ": cannot be raised to opset " << opset
        << ": " << obstacle->reason;
    return signalPassFailure();
  }
  setOpset(module, domain, opset);
}

/// Records why the highest needed opset is not used; reports show it.
void RaiseOpset::noteObstacle(int opset, StringRef reason) {
  Builder builder(&getContext());
  if (!getOperation()->hasAttr(mark::opsetObstacle))
    getOperation()->setAttr(
        mark::opsetObstacle,
        builder.getDictionaryAttr(
            {builder.getNamedAttr("opset", builder.getI64IntegerAttr(opset)),
             builder.getNamedAttr("reason", builder.getStringAttr(reason))}));
}

void RaiseOpset::raiseAsNeeded(Type lowType) {
  ModuleOp module = getOperation();
  for (auto graph : module.getOps<GraphOp>()) {
    NeededOpsets needed;
    collectInterfaceNeeds(module, needed);
    for (Operation *scope : getScopes(module))
      if (lowType)
        collectNeeded(scope, getElementKind(lowType), needed);
    // The highest possible opset covers the lower ones, too.
    for (auto &[opset, node] : llvm::reverse(needed)) {
      std::string prefix = "needs opset " + std::to_string(opset) + ", but ";
      auto miss = [&, opset = opset, node = node](const std::string &reason) {
        if (isNode(node))
          emitPrecisionRemark(node, RemarkOutcome::Missed, "f32",
                              prefix + reason);
        noteObstacle(opset, reason);
      };
      if (opset > limit) {
        miss("the limit is " + std::to_string(limit));
        continue;
      }
      if (hasInPlaceOps(graph)) {
        miss("the graph updates values in place");
        continue;
      }
      auto obstacle = findUpgradeObstacle(module, "", opset);
      if (!obstacle)
        return setOpset(module, "", opset);
      miss(describe(obstacle->node) +
           " stands against it: " + obstacle->reason);
    }
  }
}

void RaiseOpset::runOnOperation() {
  if (to)
    return raiseTo(to);
  if (atLeast) {
    if (getOpset(getOperation(), domain).value_or(1) < atLeast)
      raiseTo(atLeast);
    return;
  }
  // The policy may forbid it.
  PolicyAttr policy = getPolicy(getOperation());
  auto raise = policy ? policy.getOption<BoolAttr>("raise_opset") : BoolAttr();
  if (raise && !raise.getValue())
    return;
  if (policy || !InterfaceTypes(getOperation()).empty())
    raiseAsNeeded(policy ? policy.getLowType() : Type());
}
