//===- AnnotateMasks.cpp - Mark masks, and what they are added to ---------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Precision/Passes.h"

#include "mp-opt/Graph/Casts.h"
#include "mp-opt/Graph/Functions.h"
#include "mp-opt/Graph/Parameters.h"
#include "mp-opt/Precision/Patterns/MaskAnalysis.h"
#include "mp-opt/Precision/Patterns/MaskSums.h"

namespace mp {
#define GEN_PASS_DEF_ANNOTATEMASKS
#include "Precision/Passes.h.inc"
} // namespace mp

using namespace mlir;
using namespace mp;
using namespace mp::onnxir;

namespace {

struct AnnotateMasks : public mp::impl::AnnotateMasksBase<AnnotateMasks> {
  using AnnotateMasksBase::AnnotateMasksBase;

  void runOnOperation() override;
};

} // namespace

void AnnotateMasks::runOnOperation() {
  ModuleOp module = getOperation();
  FailureOr<ElementKind> low = resolveLowPrecision(module, precision);
  if (failed(low))
    return signalPassFailure();
  Builder builder(&getContext());
  llvm::StringSet<> trainingNames = collectTrainingNames(module);
  for (Operation *scope : getScopes(module)) {
    ConstantRange constants(*low);
    RangeAnalysis ranges(constants);
    for (const MaskConstant &mask :
         findMasks(scope, ranges, *low, trainingNames))
      mask.constant->setAttr(mark::clamp,
                             builder.getF32FloatAttr(float(mask.bound)));
    // Ranges are those of clamped constants from here on.
    RangeAnalysis clamped(constants);
    for (const MaskSum &sum : findMaskSums(scope, clamped, *low))
      // The first hazard found is the one that users read about.
      addHazard(sum.node, sum.reason);
  }
}
