//===- AnnotateObservedRanges.cpp - Mark nodes that data break ------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Precision/Passes.h"

#include "mp-opt/Graph/Casts.h"
#include "mp-opt/Graph/Functions.h"
#include "mp-opt/Precision/Data/DataHazards.h"

namespace mp {
#define GEN_PASS_DEF_ANNOTATEOBSERVEDRANGES
#include "Precision/Passes.h.inc"
} // namespace mp

using namespace mlir;
using namespace mp;
using namespace mp::onnxir;

namespace {

struct AnnotateObservedRanges
    : public mp::impl::AnnotateObservedRangesBase<AnnotateObservedRanges> {
  using AnnotateObservedRangesBase::AnnotateObservedRangesBase;

  void runOnOperation() override;

private:
  void visit(Operation *node, const DataHazards &hazards);
};

} // namespace

/// A subgraph's result is the node's: neither may be 16 bit.
static void markYielded(Operation *node, StringRef reason) {
  for (Region &region : node->getRegions())
    if (YieldOp yield = getYield(region))
      for (Value value : yield.getOperands())
        if (Operation *source = value.getDefiningOp();
            source && isNode(source) && isF32Tensor(value.getType()))
          addHazard(source, reason);
}

void AnnotateObservedRanges::visit(Operation *node,
                                   const DataHazards &hazards) {
  if (isConstant(node))
    return;
  std::string reason = hazards.explain(node);
  if (!reason.empty()) {
    addHazard(node, reason);
    markYielded(node, reason);
    return;
  }
  HazardAttr hazard = getHazard(node);
  if (!trustData || !hazard || !node->hasAttr(mark::cautious) ||
      !hazards.isProved(node))
    return;
  node->removeAttr(mark::hazard);
  node->removeAttr(mark::cautious);
  std::string proof = hazards.describeProof(node) + ", so that no caution is " +
                      "needed (" + hazard.getReason().getValue().str() + ")";
  node->setAttr(
      mark::harmless,
      HazardAttr::get(&getContext(), StringAttr::get(&getContext(), proof)));
}

void AnnotateObservedRanges::runOnOperation() {
  ModuleOp module = getOperation();
  FailureOr<ElementKind> low = resolveLowPrecision(module, precision);
  if (failed(low))
    return signalPassFailure();
  if (headRoom != 0 && !(headRoom >= 1)) {
    module.emitError() << "head-room: expected a factor from 1 on, found "
                       << headRoom;
    return signalPassFailure();
  }
  DataHazards hazards(module, *low, headRoom);
  if (hazards.isEmpty())
    return;
  for (Operation *scope : getScopes(module))
    for (Operation &op : scope->getRegion(0).front())
      if (isNode(&op))
        visit(&op, hazards);
}
