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
#include "mp-opt/Precision/Analysis/QuantizedPairs.h"
#include "mp-opt/Precision/Assignment/PrecisionRemarks.h"
#include "mp-opt/Precision/Policy/InterfaceTypes.h"
#include "mp-opt/Precision/Policy/Policy.h"
#include "mp-opt/Precision/Policy/RuntimeKernels.h"

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
  void raiseAsNeeded(Type lowType, const RuntimeKernels *kernels);
  void raiseToFirst(const RuntimeProfile &profile);
  void noteObstacle(int opset, StringRef reason);
};

/// The first allowed node that needs an opset, for each opset.
using NeededOpsets = std::map<int, Operation *>;

} // namespace

/// The first version of a node's operator, from the present one on, that admits
/// `low` and for which the runtime, if there is one, has a kernel; 0 if there
/// is none.
static int findVersion(Operation *node, const SchemaCache::Entry &entry,
                       const FloatSignature &signature, ElementKind low,
                       const RuntimeKernels *kernels) {
  if (!kernels)
    return signature.getFirstOpset(*entry.family, low);
  for (const auto &version : entry.family->getVersions())
    if (version->since >= entry.schema->since && !version->deprecated &&
        signature.admits(*version, low) &&
        kernels->getObstacle(node, *version, low).empty())
      return version->since;
  return 0;
}

/// The same where the runtime computes in fp32, and 16-bit weights need a cast
/// only.
static void collectNeededCast(Operation *scope, ElementKind low,
                              NeededOpsets &needed) {
  if (admitsCast(scope, low))
    return;
  auto &dialect = *scope->getContext()->getLoadedDialect<ONNXDialect>();
  int version = 0;
  for (const auto &schema :
       dialect.getSchemas().lookup("", "Cast")->getVersions())
    if (!version && schema->typesOf(schema->outputs[0]).containsTensor(low))
      version = schema->since;
  scope->walk([&](Operation *op) {
    if (version && hasClass(op, OpClass::Allow))
      needed.try_emplace(version, op);
  });
}

/// True for operators that may stand between a product and quantized values.
static bool isNearProduct(Operation *op) {
  OperatorKind kind = getOperatorTraits(op).kind;
  return kind == OperatorKind::Elementwise || kind == OperatorKind::Movement ||
         kind == OperatorKind::Selection || kind == OperatorKind::Window ||
         kind == OperatorKind::Combination;
}

/// True if an allowed node reads the result of a DequantizeLinear, or makes the
/// data of a QuantizeLinear, perhaps with cheap nodes in between: its type is
/// theirs.
static bool isPairOfAllowed(Operation *pair, QuantizationScales &scales) {
  constexpr unsigned maxVisited = 32;
  bool goesDown = isDequantizer(pair);
  if ((!goesDown && !isQuantizer(pair)) || hasClass(pair, OpClass::Deny) ||
      (goesDown && readsInt32(pair)) || !scales.getObstacle(pair).empty())
    return false;
  SmallVector<Operation *> worklist = {pair};
  llvm::DenseSet<Operation *> seen;
  while (!worklist.empty() && seen.size() < maxVisited) {
    Operation *next = worklist.pop_back_val();
    if (next != pair && hasClass(next, OpClass::Allow))
      return true;
    bool isPassed =
        next == pair || (isNearProduct(next) && !hasClass(next, OpClass::Deny));
    if (!isPassed || !seen.insert(next).second)
      continue;
    if (goesDown)
      llvm::append_range(worklist, next->getUsers());
    else
      for (Value operand : next->getOperands())
        if (Operation *source = operand.getDefiningOp())
          worklist.push_back(source);
  }
  return false;
}

/// True if a node reads a value that is dequantized in fp32 at every opset: it
/// stays fp32, too, and needs none.
static bool readsF32Pair(Operation *op, bool raisesPairs,
                         QuantizationScales &scales) {
  return llvm::any_of(op->getOperands(), [&](Value operand) {
    Operation *source = operand.getDefiningOp();
    while (source && canMoveDequantized(source))
      source = source->getOperand(0).getDefiningOp();
    if (!isDequantizer(source) || readsInt32(source))
      return false;
    return !raisesPairs || hasClass(source, OpClass::Deny) ||
           !scales.getObstacle(source).empty();
  });
}

static void collectNeeded(Operation *scope, ElementKind low, bool raisesPairs,
                          const RuntimeKernels *kernels, NeededOpsets &needed) {
  if (kernels && kernels->getProfile().has(RuntimeRule::Storage))
    return collectNeededCast(scope, low, needed);
  SchemaCache schemas(scope);
  QuantizationScales scales(low);
  scope->walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (!hasClass(op, OpClass::Allow) &&
        !(raisesPairs && isPairOfAllowed(op, scales)))
      return;
    if (readsF32Pair(op, raisesPairs, scales))
      return;
    const SchemaCache::Entry &entry = schemas.lookup(op);
    FloatSignature signature(op, entry.schema);
    if (!signature || !entry.schema->domain.empty() || entry.isExtension ||
        signature.getKind() != ElementKind::Float ||
        !signature.getObstacle().empty() || (!kernels && signature.admits(low)))
      return;
    int opset = findVersion(op, entry, signature, low, kernels);
    if (opset > entry.schema->since)
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

/// Describes the first node that would lose its kernel at `opset`: the one for
/// its present types, or the one for 16 bit. Empty if no node would.
static std::string findLostKernel(ModuleOp module, int opset, ElementKind low,
                                  const RuntimeKernels &kernels) {
  std::string lost;
  for (Operation *scope : getScopes(module)) {
    SchemaCache schemas(scope);
    scope->walk([&](Operation *node) {
      const SchemaCache::Entry &entry = schemas.lookup(node);
      if (!isNode(node) || !entry.schema || !entry.schema->domain.empty())
        return WalkResult::advance();
      const OpSchema *after = entry.family->at(opset);
      if (!after || after == entry.schema)
        return WalkResult::advance();
      FloatSignature signature(node, entry.schema);
      bool mayBeLow = signature && signature.admits(low);
      for (ElementKind kind :
           {ElementKind::Undefined, mayBeLow ? low : ElementKind::Undefined}) {
        std::string obstacle = kernels.getObstacle(node, *after, kind);
        if (obstacle.empty() ||
            !kernels.getObstacle(node, *entry.schema, kind).empty())
          continue;
        lost = describe(node) + " would lose its kernel: " + obstacle;
        return WalkResult::interrupt();
      }
      return WalkResult::advance();
    });
    if (!lost.empty())
      break;
  }
  return lost;
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

/// Why the runtime stands against an opset; empty if it does not.
static std::string findRuntimeObstacle(ModuleOp module, int opset,
                                       ElementKind low,
                                       const RuntimeKernels *kernels) {
  if (!kernels)
    return {};
  const RuntimeProfile &profile = kernels->getProfile();
  if (opset > profile.getLastOpset())
    return profile.str() + " reads opsets up to " +
           std::to_string(profile.getLastOpset());
  return findLostKernel(module, opset, low, *kernels);
}

void RaiseOpset::raiseAsNeeded(Type lowType, const RuntimeKernels *kernels) {
  ModuleOp module = getOperation();
  ElementKind low = lowType ? getElementKind(lowType) : ElementKind::Undefined;
  for (auto graph : module.getOps<GraphOp>()) {
    NeededOpsets needed;
    collectInterfaceNeeds(module, needed);
    for (Operation *scope : getScopes(module))
      if (lowType)
        collectNeeded(scope, low, !keepQuantized, kernels, needed);
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
      std::string text = findRuntimeObstacle(module, opset, low, kernels);
      if (!text.empty()) {
        miss(text);
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

/// Raises a model that is older than all that the runtime reads.
void RaiseOpset::raiseToFirst(const RuntimeProfile &profile) {
  ModuleOp module = getOperation();
  int64_t first = profile.getFirstOpset();
  if (first <= limit && getOpset(module, "").value_or(first) < first &&
      !findUpgradeObstacle(module, "", first))
    setOpset(module, "", first);
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
  if (!policy && InterfaceTypes(getOperation()).empty())
    return;
  Type lowType = policy ? policy.getLowType() : Type();
  if (runtime.empty())
    return raiseAsNeeded(lowType, nullptr);
  llvm::Expected<RuntimeKernels> kernels = RuntimeKernels::create(runtime);
  if (kernels) {
    raiseToFirst(kernels->getProfile());
    return raiseAsNeeded(lowType, &*kernels);
  }
  getOperation().emitError() << "--runtime: " << toString(kernels.takeError());
  signalPassFailure();
}
