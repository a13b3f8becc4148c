//===- Assign.cpp - Decide the precision of every node --------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Precision/Passes.h"
#include "mp-opt/Precision/PrecisionRemarks.h"

#include "mp-opt/Dialect/ONNX/NodeAttributes.h"
#include "mp-opt/Graph/Functions.h"
#include "mp-opt/Precision/Assignment.h"
#include "mp-opt/Precision/Casts.h"

namespace mp {
#define GEN_PASS_DEF_ASSIGN
#include "Precision/Passes.h.inc"
} // namespace mp

using namespace mlir;
using namespace mp;
using namespace mp::onnxir;

namespace {

struct Assign : public mp::impl::AssignBase<Assign> {
  using AssignBase::AssignBase;

  void runOnOperation() override;

private:
  FailureOr<AssignmentOptions> getOptions();
  FailureOr<std::vector<NodePrecision>> collectNodes();
  void annotate(const NodePrecision &entry, Type lowType);

  /// Names of marks, looked up once.
  StringAttr precisionKey, becauseKey, slotsKey;
};

} // namespace

/// What the policy says under `key` where the pass's own option is `unset`.
static std::string getSaid(DictionaryAttr policy, StringRef key, StringRef own,
                           StringRef unset) {
  auto said = policy ? policy.getAs<StringAttr>(key) : StringAttr();
  return said && own == unset ? said.str() : own.str();
}

FailureOr<AssignmentOptions> Assign::getOptions() {
  ModuleOp module = getOperation();
  auto policy = module->getAttrOfType<DictionaryAttr>(mark::options);
  std::string rule = getSaid(policy, "assign", this->rule, "min-cut");
  std::string minSaving = getSaid(policy, "min_saving", this->minSaving, "");
  AssignmentOptions options;
  if (rule == "first-operand")
    options.rule = AssignmentRule::FirstOperand;
  else if (rule != "min-cut")
    return module.emitError() << "unknown assignment rule '" << rule
                              << "', expected 'min-cut' or 'first-operand'";
  double percent = 0;
  if (!minSaving.empty()) {
    if (StringRef(minSaving).getAsDouble(percent) || !(percent <= 100))
      return module.emitError()
             << "min-saving: expected a percentage, got '" << minSaving << "'";
    options.minSaving = percent;
  }
  if (maxWeightCopy < 0)
    return module.emitError()
           << "max-weight-copy: expected bytes, got " << maxWeightCopy;
  options.maxWeightCopy = maxWeightCopy;
  options.proveOptimum = proveOptimum;
  std::vector<std::string> entries(dims.begin(), dims.end());
  auto said = policy ? policy.getAs<ArrayAttr>("dims") : ArrayAttr();
  if (said && entries.empty())
    for (auto dim : said.getAsRange<StringAttr>())
      entries.push_back(dim.str());
  if (llvm::Error invalid = parseDimensions(entries, options.dimensions))
    return module.emitError() << toString(std::move(invalid));
  return options;
}

FailureOr<std::vector<NodePrecision>> Assign::collectNodes() {
  std::vector<NodePrecision> nodes;
  auto visit = [&](Operation *op) {
    if (!isNode(op))
      return WalkResult::advance();
    auto name = op->getAttrOfType<StringAttr>(mark::opClass);
    std::optional<OpClass> opClass =
        name ? symbolizeOpClass(name.getValue()) : std::nullopt;
    if (!opClass) {
      op->emitError() << describe(op) << ": has no precision class, expected "
                      << "mp-classify to have run";
      return WalkResult::interrupt();
    }
    NodePrecision entry;
    entry.node = op;
    entry.opClass = *opClass;
    entry.isBuiltin = op->hasAttr(mark::builtin);
    entry.isOverride = op->hasAttr(mark::isOverride);
    auto reason = op->getAttrOfType<StringAttr>(mark::reason);
    if (reason && !reason.empty())
      entry.reason = reason;
    nodes.push_back(std::move(entry));
    return WalkResult::advance();
  };
  for (Operation *scope : getScopes(getOperation()))
    if (scope->walk<WalkOrder::PreOrder>(visit).wasInterrupted())
      return failure();
  return nodes;
}

void Assign::annotate(const NodePrecision &entry, Type lowType) {
  if (entry.state == NodePrecision::Other)
    return;
  Builder builder(&getContext());
  auto getType = [&](NodePrecision::State state) -> Attribute {
    if (state == NodePrecision::Other)
      return builder.getUnitAttr();
    return TypeAttr::get(state == NodePrecision::Low ? lowType
                                                     : builder.getF32Type());
  };
  bool isLow = entry.state == NodePrecision::Low;
  StringAttr reason = entry.reason ? entry.reason : builder.getStringAttr("");
  SmallVector<NamedAttribute, 3> marks = {{precisionKey, getType(entry.state)},
                                          {becauseKey, reason}};
  if (!entry.slots.empty())
    marks.emplace_back(slotsKey, builder.getArrayAttr(llvm::map_to_vector(
                                     entry.slots, getType)));
  setAttributes(entry.node, marks);
  RemarkOutcome outcome = isLow ? RemarkOutcome::Passed
                          : entry.opClass == OpClass::Allow
                              ? RemarkOutcome::Missed
                              : RemarkOutcome::Analysis;
  emitPrecisionRemark(entry.node, outcome,
                      isLow ? getPrecisionName(lowType) : "f32", reason);
}

void Assign::runOnOperation() {
  ModuleOp module = getOperation();
  auto options = getOptions();
  if (failed(options))
    return signalPassFailure();
  if (module.getOps<GraphOp>().empty())
    return;
  auto low = module->getAttrOfType<TypeAttr>(mark::low);
  if (!low) {
    module.emitError() << "the 16-bit type is not set, expected mp-classify "
                          "to have run";
    return signalPassFailure();
  }
  auto nodes = collectNodes();
  if (failed(nodes))
    return signalPassFailure();
  auto assignment =
      Assignment::compute(module, low.getValue(), std::move(*nodes), *options);
  if (!assignment) {
    module.emitError() << toString(assignment.takeError());
    return signalPassFailure();
  }
  precisionKey = StringAttr::get(&getContext(), mark::precision);
  becauseKey = StringAttr::get(&getContext(), mark::because);
  slotsKey = StringAttr::get(&getContext(), mark::slots);
  for (const NodePrecision &entry : assignment->nodes)
    annotate(entry, low.getValue());
  module->setAttr(mark::costBytes,
                  Builder(&getContext()).getI64IntegerAttr(assignment->cost));
}
