//===- CheckStrict.cpp - 16 bit where the user asked for it ---------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Precision/Passes.h"

#include "mp-opt/Graph/Casts.h"
#include "mp-opt/Graph/Functions.h"
#include "mp-opt/Precision/Policy/PolicyOptions.h"

namespace mp {
#define GEN_PASS_DEF_CHECKSTRICT
#include "Precision/Passes.h.inc"
} // namespace mp

using namespace mlir;
using namespace mp;
using namespace mp::onnxir;

namespace {

struct CheckStrict : public mp::impl::CheckStrictBase<CheckStrict> {
  using CheckStrictBase::CheckStrictBase;

  void runOnOperation() override;

private:
  bool isStrict();
};

} // namespace

bool CheckStrict::isStrict() {
  PolicyAttr policy = getPolicy(getOperation());
  auto strict = policy ? policy.getOption<BoolAttr>("strict") : BoolAttr();
  return strict && strict.getValue();
}

/// The reason why a node that the user wants in 16 bit is not; null if it is,
/// or was not requested.
static StringAttr getRefusal(Operation *node) {
  ClassAttr held = getClass(node);
  if (held && held.getDeniedBy())
    return held.getDeniedBy();
  PrecisionAttr precision = getPrecision(node);
  if (!held || held.getOpClass() != OpClass::Allow || !held.getRequestedBy() ||
      !precision || !precision.getType().isF32())
    return {};
  return StringAttr::get(
      node->getContext(),
      describeReason(precision.getReason(), precision.getValues()));
}

void CheckStrict::runOnOperation() {
  ModuleOp module = getOperation();
  if (!isStrict())
    return;
  SmallVector<std::pair<Operation *, StringAttr>> refusals;
  for (Operation *scope : getScopes(module))
    scope->walk<WalkOrder::PreOrder>([&](Operation *op) {
      if (StringAttr reason = getRefusal(op))
        refusals.emplace_back(op, reason);
    });
  if (refusals.empty())
    return;
  Type low = getLowType(module);
  InFlightDiagnostic diag = module.emitError()
                            << refusals.size()
                            << (refusals.size() == 1 ? " node" : " nodes")
                            << " cannot run in "
                            << (low ? getPrecisionName(low) : "16 bit")
                            << " as asked";
  for (auto [node, reason] : refusals) {
    StringAttr place = getClass(node).getRequestedBy();
    diag.attachNote(node->getLoc())
        << describe(node) << ": " << reason.getValue() << "; asked "
        << describePlace(place ? place.getValue() : StringRef("--allow"));
  }
  signalPassFailure();
}
