//===- WorkSummary.cpp - The share of work in 16 bit ----------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Report/WorkSummary.h"

#include "mp-opt/Graph/Casts.h"
#include "mp-opt/Graph/Functions.h"
#include "mp-opt/Graph/MultiplyAdds.h"
#include "mp-opt/Precision/Analysis/Constants.h"
#include "mp-opt/Precision/Analysis/FloatSignature.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mp::onnxir;

namespace mp {

namespace {

class WorkMeter {
public:
  WorkMeter(ModuleOp module, Type low, const ValueSizes &sizes,
            WorkSummary &summary)
      : module(module), low(low), sizes(sizes), summary(summary),
        functions(module) {}

  void run();

private:
  void addScope(Operation *scope);
  void addCustom(Operation *op);
  void addNode(Operation *op, Work &phase, SchemaCache &schemas);
  void addAllKept();
  void addKept(Operation *op, uint64_t work, SchemaCache &schemas);
  KeptWork explain(Operation *op, SchemaCache &schemas) const;
  KeptWork explainSchema(Operation *op, const SchemaCache::Entry &schema,
                         const FloatSignature &signature) const;
  bool isLow(Type type) const {
    return isFloatTensor(type) && getTensorElementType(type) == low;
  }
  bool computesLow(Operation *op, const OperatorTraits &traits) const;

  ModuleOp module;
  Type low;
  const ValueSizes &sizes;
  WorkSummary &summary;
  OperatorTraitsCache traitsOf;
  FunctionTable functions;
  /// The index of a reason in the summary's list.
  llvm::StringMap<unsigned> places;
};

} // namespace

//===----------------------------------------------------------------------===//
// Reasons
//===----------------------------------------------------------------------===//

static std::string describeOwnType(Operation *op) {
  for (Type type : op->getOperandTypes())
    if (isFloatTensor(type))
      return (getPrecisionName(getTensorElementType(type)) + " in the source")
          .str();
  return "no float operand";
}

/// Explains that the schema at the current opset does not admit 16 bit.
KeptWork WorkMeter::explainSchema(Operation *op,
                                  const SchemaCache::Entry &schema,
                                  const FloatSignature &signature) const {
  KeptWork kept;
  ElementKind kind = getElementKind(low);
  StringRef name = getPrecisionName(low);
  int first = signature.getFirstOpset(*schema.family, kind);
  kept.reason =
      (schema.schema->getDisplayName() + " does not admit " + name).str();
  auto add = [&](const std::string &flag) {
    kept.remedy += (kept.remedy.empty() ? "" : " or ") + flag;
  };
  if (first) {
    std::string number = std::to_string(first);
    kept.reason += ", opset " + number + " does";
    auto obstacle = module->getAttrOfType<DictionaryAttr>(mark::opsetObstacle);
    auto reason =
        obstacle ? obstacle.getAs<StringAttr>("reason") : StringAttr();
    if (!reason) {
      add("--raise-opset");
    } else {
      kept.reason += "; but " + reason.str();
      if (reason.getValue().starts_with("the limit"))
        add("--opset-limit=" + number);
    }
  } else {
    kept.reason += " at any opset";
  }
  if (kind == ElementKind::BFloat16 && signature.admits(ElementKind::Float16))
    add("--mixed-fp16");
  return kept;
}

/// The reason why a node is not 16 bit: the decision of an analysis or a list,
/// or the obstacle to a request for 16 bit.
KeptWork WorkMeter::explain(Operation *op, SchemaCache &schemas) const {
  KeptWork kept;
  PrecisionAttr precision = getPrecision(op);
  if (!precision) {
    kept.reason = describeOwnType(op);
    return kept;
  }
  kept.reason =
      describeReasonGroup(precision.getReason(), precision.getValues());
  const SchemaCache::Entry &schema = schemas.lookup(op);
  FloatSignature signature(op, schema.schema);
  ClassAttr held = getClass(op);
  if (!held || !signature || schema.isExtension)
    return kept;
  bool isAdmitted = signature.admits(getElementKind(low));
  if (held.getOpClass() != OpClass::Deny) {
    if (!isAdmitted && signature.getObstacle().empty())
      return explainSchema(op, schema, signature);
    return kept;
  }
  if (held.getRequestedBy())
    kept.reason += " (" + held.getRequestedBy().str() + ")";
  bool isOnList = held.getIsBuiltin() && !op->hasAttr(mark::shapeArithmetic);
  if (isOnList && (isAdmitted || signature.getFirstOpset(*schema.family,
                                                         getElementKind(low))))
    kept.remedy = "--allow=" + getQualifiedName(getDomain(op), getOpType(op));
  return kept;
}

void WorkMeter::addKept(Operation *op, uint64_t work, SchemaCache &schemas) {
  KeptWork found = explain(op, schemas);
  auto [place, isNew] =
      places.try_emplace(found.reason + found.remedy, summary.kept.size());
  if (isNew)
    summary.kept.push_back(std::move(found));
  KeptWork &entry = summary.kept[place->second];
  ++entry.nodes;
  entry.multiplyAdds = llvm::SaturatingAdd(entry.multiplyAdds, work);
  std::string name = getQualifiedName(getDomain(op), getOpType(op));
  if (!llvm::is_contained(entry.ops, name))
    entry.ops.push_back(std::move(name));
}

//===----------------------------------------------------------------------===//
// Counting
//===----------------------------------------------------------------------===//

/// Ops that only move elements have kernels for every type.
bool WorkMeter::computesLow(Operation *op, const OperatorTraits &traits) const {
  if (traits.movesData() || op->getNumRegions() || isStandardOp(op, "Cast") ||
      isStandardOp(op, "CastLike") || mp::isConstant(op))
    return false;
  return llvm::any_of(op->getOperandTypes(),
                      [&](Type t) { return isLow(t); }) ||
         llvm::any_of(op->getResultTypes(), [&](Type t) { return isLow(t); });
}

void WorkMeter::addCustom(Operation *op) {
  std::string name = getQualifiedName(getDomain(op), getOpType(op));
  if (!functions.lookup(cast<CustomOp>(op)) &&
      !llvm::is_contained(summary.customOps, name))
    summary.customOps.push_back(std::move(name));
}

void WorkMeter::addNode(Operation *op, Work &phase, SchemaCache &schemas) {
  if (isInsertedCast(op)) {
    ++phase.casts;
    return;
  }
  if (isa<CustomOp>(op))
    addCustom(op);
  const OperatorTraits &traits = traitsOf.lookup(op);
  summary.hasOptimizerNodes |= traits.kind == OperatorKind::Optimizer &&
                               traits.hasRole(OperandRole::InPlace);
  Type assigned = getPrecisionType(op);
  bool computes = computesLow(op, traits);
  summary.computing += computes;
  summary.lowBefore += computes && !assigned;
  bool yieldsFloat = llvm::any_of(op->getResultTypes(), [](Type type) {
    return isF32Tensor(type) || is16BitTensor(type);
  });
  bool isDecided = assigned && yieldsFloat;
  ++(!isDecided         ? phase.nodesOther
     : assigned.isF32() ? phase.nodesF32
                        : phase.nodesLow);
  if (!traits.contracts())
    return;
  std::optional<uint64_t> work = countMultiplyAdds(op, traits, sizes);
  summary.unknownNodes += !work;
  phase.total = llvm::SaturatingAdd(phase.total, work.value_or(0));
  bool readsLow = llvm::any_of(op->getOperandTypes(),
                               [&](Type type) { return isLow(type); });
  if (readsLow)
    phase.low = llvm::SaturatingAdd(phase.low, work.value_or(0));
  else
    addKept(op, work.value_or(0), schemas);
}

void WorkMeter::addScope(Operation *scope) {
  SchemaCache schemas(scope);
  TrainingPhases phases;
  if (auto graph = dyn_cast<GraphOp>(scope))
    phases = TrainingPhases::compute(graph);
  summary.trains |= phases.trains();
  scope->walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (isNode(op))
      addNode(op,
              phases.trains() ? summary.phases[unsigned(phases.lookup(op))]
                              : summary.all,
              schemas);
  });
}

/// If no node adds up products, every node that could be 16 bit counts.
void WorkMeter::addAllKept() {
  for (Operation *scope : getScopes(module)) {
    SchemaCache schemas(scope);
    scope->walk<WalkOrder::PreOrder>([&](Operation *op) {
      Type assigned = isNode(op) ? getPrecisionType(op) : Type();
      if (assigned && assigned.isF32())
        addKept(op, 0, schemas);
    });
  }
}

void WorkMeter::run() {
  for (Operation *scope : getScopes(module))
    addScope(scope);
  for (const Work &phase : summary.phases) {
    Work &all = summary.all;
    all.low = llvm::SaturatingAdd(all.low, phase.low);
    all.total = llvm::SaturatingAdd(all.total, phase.total);
    all.nodesLow += phase.nodesLow;
    all.nodesF32 += phase.nodesF32;
    all.nodesOther += phase.nodesOther;
    all.casts += phase.casts;
  }
  if (!summary.all.total && !summary.unknownNodes)
    addAllKept();
  llvm::stable_sort(summary.kept, [](const KeptWork &a, const KeptWork &b) {
    return std::pair(a.multiplyAdds, a.nodes) >
           std::pair(b.multiplyAdds, b.nodes);
  });
}

WorkSummary WorkSummary::measure(ModuleOp module, Type low,
                                 const ValueSizes &sizes) {
  WorkSummary summary;
  WorkMeter(module, low, sizes, summary).run();
  return summary;
}

bool WorkSummary::isLittle() const {
  if (all.total)
    return all.getShare() < 0.5;
  return all.nodesLow < all.nodesF32;
}

} // namespace mp
