//===- ExpandTraining.cpp - Write Gradient and optimizers in other ops ----===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Autodiff/Passes.h"

#include "mp-opt/Training/TrainingInfo.h"

namespace mp {
#define GEN_PASS_DEF_EXPANDTRAINING
#include "Autodiff/Passes.h.inc"
} // namespace mp

using namespace mlir;
using namespace mp;
using namespace mp::onnxir;

namespace {

struct ExpandTraining : public mp::impl::ExpandTrainingBase<ExpandTraining> {
  void runOnOperation() override;
};

} // namespace

void ExpandTraining::runOnOperation() {
  GraphOp graph = getMainGraph(getOperation());
  if (!graph)
    return;
  NodeBuilder builder(getOperation());
  if (failed(expandGradients(graph, builder)) ||
      failed(expandOptimizers(graph, builder)))
    signalPassFailure();
}
