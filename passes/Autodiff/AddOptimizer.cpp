//===- AddOptimizer.cpp - Add an optimizer to a graph with gradients ------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Autodiff/Passes.h"

#include "mp-opt/Training/Optimizers.h"

#include <cmath>

namespace mp {
#define GEN_PASS_DEF_ADDOPTIMIZER
#include "Autodiff/Passes.h.inc"
} // namespace mp

using namespace mlir;
using namespace mp;
using namespace mp::onnxir;

namespace {

struct AddOptimizer : public mp::impl::AddOptimizerBase<AddOptimizer> {
  using AddOptimizerBase::AddOptimizerBase;

  void runOnOperation() override;
};

} // namespace

/// Rejects numbers that make a step impossible.
static LogicalResult checkSettings(ModuleOp module,
                                   const OptimizerSettings &settings) {
  // Rates of groups are factors of the step's.
  for (const ParameterGroup &group : settings.groups)
    if (settings.learningRate == 0 && group.numbers.lookup("lr") != 0)
      return module.emitError()
             << "group '" << group.text << "': its lr follows that of the "
             << "step, which is 0";
  auto check = [&](bool isGood, StringRef name, auto value) {
    return isGood ? success()
                  : LogicalResult(module.emitError() << name << ": " << value
                                                     << " is out of range");
  };
  return success(succeeded(check(settings.learningRate >= 0 &&
                                     std::isfinite(settings.learningRate),
                                 "lr", settings.learningRate)) &&
                 succeeded(check(settings.weightDecay >= 0 &&
                                     std::isfinite(settings.weightDecay),
                                 "weight-decay", settings.weightDecay)) &&
                 succeeded(check(settings.clipNorm >= 0 &&
                                     std::isfinite(settings.clipNorm),
                                 "clip-norm", settings.clipNorm)) &&
                 succeeded(check(settings.clipValue >= 0 &&
                                     std::isfinite(settings.clipValue),
                                 "clip-value", settings.clipValue)) &&
                 succeeded(check(settings.accumulate >= 1, "accumulate",
                                 settings.accumulate)));
}

void AddOptimizer::runOnOperation() {
  ModuleOp module = getOperation();
  GraphOp graph = getMainGraph(module);
  if (!graph)
    return;
  OptimizerSettings settings;
  auto parse = [&]() -> llvm::Error {
    if (llvm::Error failed = settings.parse(optimizer))
      return failed;
    for (const std::string &group : groups)
      if (llvm::Error failed = settings.addGroup(group))
        return failed;
    return settings.parseAverage(average);
  };
  if (llvm::Error failed = parse()) {
    module.emitError() << toString(std::move(failed));
    return signalPassFailure();
  }
  settings.learningRate = learningRate;
  settings.weightDecay = weightDecay;
  settings.clipNorm = clipNorm;
  settings.clipValue = clipValue;
  settings.accumulate = accumulate;
  if (failed(checkSettings(module, settings)))
    return signalPassFailure();
  NodeBuilder builder(module);
  if (failed(addOptimizer(graph, builder, settings)))
    signalPassFailure();
}
