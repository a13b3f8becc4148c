//===- Pipelines.cpp - Passes in the order that does a job ----------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Pipelines/Pipelines.h"

#include "Graph/Passes.h"
#include "Precision/Passes.h"

#include "mlir/Pass/PassRegistry.h"

using namespace mlir;

namespace mp {

static ClassifyOptions getClassifyOptions(const MixedPrecisionOptions &from) {
  ClassifyOptions options;
  options.precision = from.precision;
  options.allow.assign(from.allow.begin(), from.allow.end());
  options.deny.assign(from.deny.begin(), from.deny.end());
  options.promote.assign(from.promote.begin(), from.promote.end());
  options.allowNodes.assign(from.allowNodes.begin(), from.allowNodes.end());
  options.denyNodes.assign(from.denyNodes.begin(), from.denyNodes.end());
  return options;
}

void buildMixedPrecisionPipeline(OpPassManager &pm,
                                 const MixedPrecisionOptions &options) {
  pm.addPass(createClassify(getClassifyOptions(options)));
  if (options.raiseOpset) {
    RaiseOpsetOptions raising;
    raising.limit = options.opsetLimit;
    pm.addPass(createRaiseOpset(raising));
  }
  pm.addPass(createAssign());
  pm.addPass(createInsertCasts());
  pm.addPass(createSimplifyCasts());
  pm.addPass(createConvertWeights());
  pm.addPass(createVerifyPrecision());
}

void registerPipelines() {
  PassPipelineRegistration<MixedPrecisionOptions>(
      "mp-mixed-precision",
      "Rewrite a model to compute in 16 bit where that is safe",
      buildMixedPrecisionPipeline);
}

} // namespace mp
