//===- TrainingRequest.cpp - Settings of a training step ------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Training/TrainingRequest.h"

namespace mp {

using R = TrainingRequest;

// Ordered as in the help of mp-opt.
static constexpr RequestField<R> fields[] = {
    {"loss", "loss", "loss function", &R::loss, "LOSS"},
    {"class-axis", "class-axis", "axis of the loss's classes", &R::classAxis},
    {"optimizer", "optimizer", "optimizer and its settings", &R::optimizer,
     "NAME"},
    {"lr",
     "lr",
     "learning rate",
     &R::learningRate,
     "",
     false,
     false,
     {"learning-rate"}},
    {"weight-decay", "weight-decay", "decay of the parameters",
     &R::weightDecay},
    {"clip-norm",
     "clip-norm",
     "bound of the gradients' norm",
     &R::clipNorm,
     "",
     false,
     false,
     {"max-grad-norm", "gradient-clip-norm"}},
    {"clip-value", "clip-value", "bound of the gradients' elements",
     &R::clipValue},
    {"group", "group", "settings of parameters by their names", &R::groups,
     "REGEX:KEY=N,..."},
    {"average", "average", "average of the parameters", &R::average,
     "ema:decay=D"},
    {"accumulate",
     "accumulate",
     "steps whose gradients make one update",
     &R::accumulate,
     "",
     false,
     false,
     {"gradient-accumulation-steps", "accumulation-steps"}},
    {"distribute", "", "reduce gradients over all ranks", &R::distribute},
    {"sync-batch-norm", "sync-batch-norm", "batch statistics over all ranks",
     &R::syncBatchNorm},
    {"train-only", "train-only", "parameters that are trained", &R::trainOnly,
     "REGEX|@FILE"},
    {"tie", "tie", "initializers that become one parameter", &R::tie,
     "NAME,NAME"},
    {"untie", "untie", "parameters of which each module gets a copy", &R::untie,
     "REGEX"},
    {"freeze", "freeze", "parameters that are not trained", &R::freeze,
     "REGEX|@FILE"},
    {"stop-gradient", "stop-gradient", "values that pass no gradient",
     &R::stopGradient, "REGEX"},
    {"fix", "fixed", "sizes for which the step is made", &R::fixed,
     "NAME=SIZE,...", /*hasCommas=*/true},
    {"straight-through", "straight-through",
     "pass gradients through pairs of quantization", &R::straightThrough},
};

llvm::ArrayRef<RequestField<R>> R::getFields() { return fields; }

} // namespace mp
