//===- AnnotateSensitiveValues.cpp - Mark what needs its last digits ------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Precision/Passes.h"

#include "mp-opt/Graph/Casts.h"
#include "mp-opt/Graph/Functions.h"
#include "mp-opt/Precision/Analysis/SensitiveValues.h"

namespace mp {
#define GEN_PASS_DEF_ANNOTATESENSITIVEVALUES
#include "Precision/Passes.h.inc"
} // namespace mp

using namespace mlir;
using namespace mp;
using namespace mp::onnxir;

namespace {

struct AnnotateSensitiveValues
    : public mp::impl::AnnotateSensitiveValuesBase<AnnotateSensitiveValues> {
  using AnnotateSensitiveValuesBase::AnnotateSensitiveValuesBase;

  void runOnOperation() override;
};

} // namespace

static void markInputs(const SensitiveValues &found, MLIRContext *context) {
  NamedAttrList reasons;
  Operation *graph = nullptr;
  for (const auto &[input, reason] : found.inputs) {
    graph = input.getOwner()->getParentOp();
    if (StringRef name = onnxir::getValueName(input); !name.empty())
      reasons.set(name, StringAttr::get(context, reason));
  }
  if (graph)
    graph->setAttr(mark::sensitiveInputs, reasons.getDictionary(context));
}

void AnnotateSensitiveValues::runOnOperation() {
  ModuleOp module = getOperation();
  FailureOr<ElementKind> low = resolveLowPrecision(module, precision);
  if (failed(low))
    return signalPassFailure();
  ConstantRange constants(*low);
  RangeAnalysis ranges(constants);
  SensitiveValues found = findSensitiveValues(module, ranges, *low);
  for (Operation *scope : getScopes(module))
    scope->walk([&](Operation *op) {
      // The first hazard found is the one that users read about.
      StringRef reason = found.hazards.lookup(op);
      if (!reason.empty())
        addHazard(op, reason, found.hazards.isCautious(op));
    });
  markInputs(found, &getContext());
  for (auto &[node, reason] : found.costly)
    node->setAttr(
        mark::costly,
        HazardAttr::get(&getContext(), StringAttr::get(&getContext(), reason)));
}
