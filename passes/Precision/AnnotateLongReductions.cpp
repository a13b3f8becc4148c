//===- AnnotateLongReductions.cpp - Mark sums too long for 16 bit ---------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Precision/Passes.h"

#include "mp-opt/Graph/Casts.h"
#include "mp-opt/Graph/Functions.h"
#include "mp-opt/Precision/Analysis/Constants.h"
#include "mp-opt/Precision/Analysis/LongReductions.h"

namespace mp {
#define GEN_PASS_DEF_ANNOTATELONGREDUCTIONS
#include "Precision/Passes.h.inc"
} // namespace mp

using namespace mlir;
using namespace mp;
using namespace mp::onnxir;

namespace {

struct AnnotateLongReductions
    : public mp::impl::AnnotateLongReductionsBase<AnnotateLongReductions> {
  using AnnotateLongReductionsBase::AnnotateLongReductionsBase;

  void runOnOperation() override;
};

} // namespace

void AnnotateLongReductions::runOnOperation() {
  ModuleOp module = getOperation();
  FailureOr<ElementKind> low = resolveLowPrecision(module, precision);
  if (failed(low))
    return signalPassFailure();
  for (Operation *scope : getScopes(module))
    for (const LongReduction &found : findLongReductions(scope, *low))
      // The first hazard found is the one that users read about.
      addHazard(found.node, found.reason);
}
