//===- TrainingStep.cpp - What makes a model a training step --------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/API/TrainingStep.h"

#include "llvm/Support/Path.h"

using namespace llvm;

namespace mp {

Expected<TrainingStep> TrainingStep::find(Model &model,
                                          const StringMap<int64_t> &dims) {
  auto inputs = model.getInputs(dims);
  if (!inputs)
    return inputs.takeError();
  StringSet<> outputs;
  for (const std::string &name : model.getOutputNames())
    outputs.insert(name);
  if (!outputs.contains(lossName))
    return createStringError(
        model.getName() + ": it is no training step, since it has no output '" +
        lossName + "'; mp-opt " + sys::path::filename(model.getName()) +
        " --train --loss=... -o step.onnx makes one");
  TrainingStep step;
  for (const ModelValue &input : *inputs)
    step.isState.push_back(outputs.contains(input.name + "_new"));
  step.inputs = std::move(*inputs);
  return step;
}

std::vector<ModelValue> TrainingStep::getStates() const {
  std::vector<ModelValue> states;
  for (auto [input, isOne] : llvm::zip(inputs, isState))
    if (isOne)
      states.push_back(input);
  return states;
}

} // namespace mp
