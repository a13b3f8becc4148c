//===- Assign.cpp - Decide the precision of every node --------------------===//
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
#include "mp-opt/Precision/Assignment/Assignment.h"

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

  /// The name of the mark, looked up once.
  StringAttr precisionKey;
};

} // namespace

/// The policy's value of `key` if the pass's own option has its default
/// `unset`.
static std::string getSaid(PolicyAttr policy, StringRef key, StringRef own,
                           StringRef unset) {
  auto said = policy ? policy.getOption<ArrayAttr>(key) : ArrayAttr();
  return said && own == unset ? cast<StringAttr>(said[0]).str() : own.str();
}

FailureOr<AssignmentOptions> Assign::getOptions() {
  ModuleOp module = getOperation();
  PolicyAttr policy = getPolicy(module);
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
  options.keepQuantizedF32 = keepQuantized;
  options.ownScales = ownScales;
  options.microsoftPairs = microsoftPairs;
  options.requantizedBiases = requantizedBiases;
  if (ErrorLimitAttr limit = mp::getErrorLimit(module)) {
    options.errorLimit = limit.getLimit().getValueAsDouble();
    if (limit.getKinks())
      options.kinkError = limit.getKinks().getValueAsDouble();
  }
  std::vector<std::string> entries(dims.begin(), dims.end());
  auto said = policy ? policy.getOption<ArrayAttr>("dims") : ArrayAttr();
  if (said && entries.empty())
    for (auto entry : said.getAsRange<ArrayAttr>())
      entries.push_back(cast<StringAttr>(entry[0]).str());
  if (llvm::Error invalid = parseDimensions(entries, options.dimensions))
    return module.emitError() << toString(std::move(invalid));
  return options;
}

FailureOr<std::vector<NodePrecision>> Assign::collectNodes() {
  std::vector<NodePrecision> nodes;
  auto visit = [&](Operation *op) {
    if (!isNode(op))
      return WalkResult::advance();
    ClassAttr held = getClass(op);
    if (!held) {
      op->emitError() << describe(op) << ": has no precision class, expected "
                      << "mp-classify to have run";
      return WalkResult::interrupt();
    }
    NodePrecision entry;
    entry.node = op;
    entry.opClass = held.getOpClass();
    entry.isBuiltin = held.getIsBuiltin();
    entry.isOverride = held.getIsOverride();
    if (!held.getReason().empty())
      entry.reason.text = held.getReason();
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
  auto getType = [&](NodePrecision::State state) -> Type {
    return state == NodePrecision::Other ? Type(builder.getNoneType())
           : state == NodePrecision::Low ? lowType
                                         : Type(builder.getF32Type());
  };
  bool isLow = entry.state == NodePrecision::Low;
  DecisionReason reason = entry.reason;
  if (!reason)
    reason.text = builder.getStringAttr("");
  auto variables = llvm::map_to_vector(entry.variables, getType);
  setAttributes(entry.node,
                {{precisionKey,
                  PrecisionAttr::get(&getContext(), getType(entry.state),
                                     variables, reason.text, reason.values)}});
  RemarkOutcome outcome = isLow ? RemarkOutcome::Passed
                          : entry.opClass == OpClass::Allow
                              ? RemarkOutcome::Missed
                              : RemarkOutcome::Analysis;
  emitPrecisionRemark(entry.node, outcome,
                      isLow ? getPrecisionName(lowType) : "f32", reason.text,
                      reason.values);
}

void Assign::runOnOperation() {
  ModuleOp module = getOperation();
  auto options = getOptions();
  if (failed(options))
    return signalPassFailure();
  if (module.getOps<GraphOp>().empty())
    return;
  Type low = getLowType(module);
  if (!low) {
    module.emitError() << "the 16-bit type is not set, expected mp-set-policy "
                          "to have run";
    return signalPassFailure();
  }
  auto nodes = collectNodes();
  if (failed(nodes))
    return signalPassFailure();
  auto assignment =
      Assignment::compute(module, low, std::move(*nodes), *options);
  if (!assignment) {
    module.emitError() << toString(assignment.takeError());
    return signalPassFailure();
  }
  precisionKey = StringAttr::get(&getContext(), mark::precision);
  for (const NodePrecision &entry : assignment->nodes)
    annotate(entry, low);
  module->setAttr(mark::costBytes,
                  Builder(&getContext()).getI64IntegerAttr(assignment->cost));
  if (options->errorLimit)
    module->setAttr(mark::predictedError,
                    Builder(&getContext()).getF64FloatAttr(assignment->error));
}
