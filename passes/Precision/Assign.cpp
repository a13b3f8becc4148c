//===- Assign.cpp - Decide the precision of every node --------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Precision/Passes.h"
#include "mp-opt/Precision/PrecisionRemarks.h"

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
  FailureOr<std::vector<NodePrecision>> collectNodes(GraphOp graph);
  void annotate(const Assignment &assignment, Type lowType);
};

} // namespace

FailureOr<std::vector<NodePrecision>> Assign::collectNodes(GraphOp graph) {
  std::vector<NodePrecision> nodes;
  WalkResult result = graph->walk<WalkOrder::PreOrder>([&](Operation *op) {
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
    if (auto reason = op->getAttrOfType<StringAttr>(mark::reason))
      entry.reason = reason.getValue().str();
    nodes.push_back(std::move(entry));
    return WalkResult::advance();
  });
  if (result.wasInterrupted())
    return failure();
  return nodes;
}

void Assign::annotate(const Assignment &assignment, Type lowType) {
  Builder builder(&getContext());
  auto f32 = TypeAttr::get(builder.getF32Type());
  auto low = TypeAttr::get(lowType);
  for (const NodePrecision &entry : assignment.getNodes()) {
    if (entry.state == NodePrecision::Other)
      continue;
    bool isLow = entry.state == NodePrecision::Low;
    NamedAttrList attributes(entry.node->getAttrDictionary());
    attributes.set(mark::precision, isLow ? low : f32);
    attributes.set(mark::because, builder.getStringAttr(entry.reason));
    entry.node->setAttrs(attributes.getDictionary(&getContext()));
    RemarkOutcome outcome = isLow ? RemarkOutcome::Passed
                            : entry.opClass == OpClass::Allow
                                ? RemarkOutcome::Missed
                                : RemarkOutcome::Analysis;
    emitPrecisionRemark(entry.node, outcome,
                        isLow ? getPrecisionName(lowType) : "f32",
                        entry.reason);
  }
}

void Assign::runOnOperation() {
  ModuleOp module = getOperation();
  if (rule != "first-operand") {
    module.emitError() << "unknown assignment rule '" << rule
                       << "', expected 'first-operand'";
    return signalPassFailure();
  }
  auto low = module->getAttrOfType<TypeAttr>(mark::low);
  for (auto graph : module.getOps<GraphOp>()) {
    if (!low) {
      module.emitError() << "the 16-bit type is not set, expected mp-classify "
                            "to have run";
      return signalPassFailure();
    }
    auto nodes = collectNodes(graph);
    if (failed(nodes))
      return signalPassFailure();
    annotate(Assignment::computeFirstOperand(graph, low.getValue(),
                                             std::move(*nodes)),
             low.getValue());
  }
}
