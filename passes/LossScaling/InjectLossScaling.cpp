//===- InjectLossScaling.cpp - Scale losses, unscale gradients ------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LossScaling/Passes.h"

#include "mp-opt/Graph/Casts.h"
#include "mp-opt/Training/LossScaling.h"

namespace mp {
#define GEN_PASS_DEF_INJECTLOSSSCALING
#include "LossScaling/Passes.h.inc"
} // namespace mp

using namespace mlir;
using namespace mp;
using namespace mp::onnxir;

namespace {

struct InjectLossScaling
    : public mp::impl::InjectLossScalingBase<InjectLossScaling> {
  using InjectLossScalingBase::InjectLossScalingBase;

  void runOnOperation() override;
};

} // namespace

/// fp16 has too few exponents for gradients; bf16 has all of fp32's.
static bool isFP16(ModuleOp module) {
  Type low = getLowType(module);
  return low && low.isF16();
}

/// Chooses a scale that needs no support by the caller. If gradients are
/// outputs, the caller would have to feed a changing scale back, and to skip
/// steps until it fits.
static StringRef chooseScale(GraphOp graph) {
  bool isFed = !graph.getBody().getOps<UpdateOp>().empty();
  return isFed && !leavesGradients(graph) ? "dynamic" : "1024";
}

void InjectLossScaling::runOnOperation() {
  ModuleOp module = getOperation();
  GraphOp graph = getMainGraph(module);
  bool isAuto = lossScale == "auto";
  LossScale settings;
  if (!isAuto)
    if (llvm::Error failed = settings.parse(lossScale)) {
      module.emitError() << toString(std::move(failed));
      return signalPassFailure();
    }
  if (!graph || (isAuto ? !isFP16(module) : settings.mode == LossScale::None))
    return;
  NodeBuilder builder(module);
  if (!isAuto)
    guardOptimizers(graph, builder);
  TrainingGraph training = findTraining(graph);
  // A graph that came with its backward pass may be scaled already.
  if (training.gradients.empty() || (isAuto && training.accumulates))
    return;
  if (isAuto)
    llvm::cantFail(settings.parse(chooseScale(graph)));
  if (failed(scaleLosses(graph, builder, training, settings)))
    return signalPassFailure();
}
