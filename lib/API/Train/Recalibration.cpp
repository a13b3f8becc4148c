//===- Recalibration.cpp - Ranges from a running training -----------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Recalibration.h"

#include "mp-opt/API/Run/RangeStatistics.h"
#include "mp-opt/API/Run/Session.h"
#include "mp-opt/API/Train/Evaluation.h"

using namespace llvm;

namespace mp {

static constexpr uint64_t maxRecalibrationBatches = 8;

Error recalibrate(const TrainerOptions &options, const TrainingStep &form,
                  Batches &batches, std::vector<Tensor> values, uint64_t step) {
  auto model = options.readStep();
  if (!model)
    return model.takeError();
  makeEvaluationModel(**model, form);
  CompileOptions compile = options.compile;
  compile.device = DeviceKind::CPU;
  compile.keepTimes = false;
  addSizes(form.inputs, values, compile);
  auto statistics = RangeStatistics::create((*model)->getModule(),
                                            (*model)->getName(), compile);
  if (!statistics)
    return statistics.takeError();
  ObservedRanges ranges;
  ranges.batches = std::min(maxRecalibrationBatches, batches.getCount());
  for (uint64_t number = 0; number < ranges.batches; ++number) {
    if (Error failed = batches.load(step + number, values))
      return failed;
    std::vector<NamedTensor> inputs;
    for (auto [input, value] : llvm::zip(form.inputs, values))
      if (value.getData())
        inputs.push_back({input.name, value});
    if (Error failed =
            (*statistics)->run(inputs, int64_t(step + number), ranges))
      return failed;
  }
  return ranges.write(options.ranges);
}

} // namespace mp
