//===- InlineTraining.cpp - Move training_info into the main graph --------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Autodiff/Passes.h"

#include "mp-opt/Training/TrainingInfo.h"

namespace mp {
#define GEN_PASS_DEF_INLINETRAINING
#include "Autodiff/Passes.h.inc"
} // namespace mp

using namespace mlir;
using namespace mp;
using namespace mp::onnxir;

namespace {

struct InlineTraining : public mp::impl::InlineTrainingBase<InlineTraining> {
  void runOnOperation() override;
};

} // namespace

void InlineTraining::runOnOperation() {
  NodeBuilder builder(getOperation());
  if (failed(inlineTraining(getOperation(), builder)))
    signalPassFailure();
}
