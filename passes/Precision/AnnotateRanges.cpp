//===- AnnotateRanges.cpp - Mark nodes that 16 bit would break
//-------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Precision/Passes.h"

#include "mp-opt/Graph/Casts.h"
#include "mp-opt/Graph/Functions.h"
#include "mp-opt/Precision/Analysis/HazardAnalysis.h"

namespace mp {
#define GEN_PASS_DEF_ANNOTATERANGES
#include "Precision/Passes.h.inc"
} // namespace mp

using namespace mlir;
using namespace mp;
using namespace mp::onnxir;

namespace {

struct AnnotateRanges : public mp::impl::AnnotateRangesBase<AnnotateRanges> {
  using AnnotateRangesBase::AnnotateRangesBase;

  void runOnOperation() override;
};

} // namespace

void AnnotateRanges::runOnOperation() {
  ModuleOp module = getOperation();
  FailureOr<ElementKind> low = resolveLowPrecision(module, precision);
  if (failed(low))
    return signalPassFailure();
  for (Operation *scope : getScopes(module)) {
    ConstantRange constants(*low);
    RangeAnalysis ranges(constants);
    Hazards hazards = findHazards(scope, ranges, *low);
    scope->walk([&](Operation *op) {
      // The first hazard found is the one that users read about.
      StringRef reason = hazards.lookup(op);
      if (!reason.empty())
        addHazard(op, reason, hazards.isCautious(op));
    });
  }
}
