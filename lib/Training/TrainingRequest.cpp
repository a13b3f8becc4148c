//===- TrainingRequest.cpp - Settings of a training step ------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Training/TrainingRequest.h"

namespace mp {

// Ordered as in the help of mp-opt.
static constexpr RequestField<TrainingRequest> trainingFields[] = {
    {"loss", "loss", "loss function", &TrainingRequest::loss, "LOSS"},
    {"class-axis", "class-axis", "axis of the loss's classes",
     &TrainingRequest::classAxis},
    {"optimizer", "optimizer", "optimizer and its settings",
     &TrainingRequest::optimizer, "NAME"},
    {"lr",
     "lr",
     "learning rate",
     &TrainingRequest::learningRate,
     "",
     false,
     false,
     {"learning-rate"}},
    {"weight-decay", "weight-decay", "decay of the parameters",
     &TrainingRequest::weightDecay},
    {"clip-norm",
     "clip-norm",
     "bound of the gradients' norm",
     &TrainingRequest::clipNorm,
     "",
     false,
     false,
     {"max-grad-norm", "gradient-clip-norm"}},
    {"clip-value", "clip-value", "bound of the gradients' elements",
     &TrainingRequest::clipValue},
    {"group", "group", "settings of parameters by their names",
     &TrainingRequest::groups, "REGEX:KEY=N,..."},
    {"average", "average", "average of the parameters",
     &TrainingRequest::average, "ema:decay=D"},
    {"accumulate",
     "accumulate",
     "steps whose gradients make one update",
     &TrainingRequest::accumulate,
     "",
     false,
     false,
     {"gradient-accumulation-steps", "accumulation-steps"}},
    {"distribute", "", "reduce gradients over all ranks",
     &TrainingRequest::distribute},
    {"sync-batch-norm", "sync-batch-norm", "batch statistics over all ranks",
     &TrainingRequest::syncBatchNorm},
    {"train-only", "train-only", "parameters that are trained",
     &TrainingRequest::trainOnly, "REGEX|@FILE"},
    {"tie", "tie", "initializers that become one parameter",
     &TrainingRequest::tie, "NAME,NAME"},
    {"untie", "untie", "parameters of which each module gets a copy",
     &TrainingRequest::untie, "REGEX"},
    {"freeze", "freeze", "parameters that are not trained",
     &TrainingRequest::freeze, "REGEX|@FILE"},
    {"stop-gradient", "stop-gradient", "values that pass no gradient",
     &TrainingRequest::stopGradient, "REGEX"},
    {"fix", "fixed", "sizes for which the step is made",
     &TrainingRequest::fixed, "NAME=SIZE,...", /*hasCommas=*/true},
    {"straight-through", "straight-through",
     "pass gradients through pairs of quantization",
     &TrainingRequest::straightThrough},
};

llvm::ArrayRef<RequestField<TrainingRequest>> TrainingRequest::getFields() {
  return trainingFields;
}

} // namespace mp
