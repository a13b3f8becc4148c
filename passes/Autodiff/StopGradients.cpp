//===- StopGradients.cpp - Mark where gradients end -----------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Autodiff/Passes.h"

#include "mp-opt/Training/GradientStops.h"

namespace mp {
#define GEN_PASS_DEF_STOPGRADIENTS
#include "Autodiff/Passes.h.inc"
} // namespace mp

using namespace mlir;
using namespace mp;
using namespace mp::onnxir;

namespace {

struct StopGradients : public mp::impl::StopGradientsBase<StopGradients> {
  using StopGradientsBase::StopGradientsBase;

  void runOnOperation() override;
};

} // namespace

void StopGradients::runOnOperation() {
  GraphOp graph = getMainGraph(getOperation());
  if (!graph)
    return;
  restoreTrainingModes(graph);
  SmallVector<std::string> given(patterns.begin(), patterns.end());
  if (failed(markGradientStops(graph, given)) || failed(markPadding(graph)))
    signalPassFailure();
}
