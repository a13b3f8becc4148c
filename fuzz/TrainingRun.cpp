//===- TrainingRun.cpp - Making a training step of any model --------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TrainingRun.h"

#include "mp-opt/Autodiff/Autodiff.h"
#include "mp-opt/Dialect/ONNX/GraphEditor.h"
#include "mp-opt/Graph/Casts.h"

#include "Autodiff/Passes.h"
#include "Graph/Passes.h"
#include "LossScaling/Passes.h"
#include "Pipelines/Pipelines.h"

#include "mlir/Pass/PassManager.h"

using namespace mlir;

namespace mp::fuzz {

static LogicalResult run(ModuleOp module,
                         llvm::function_ref<void(OpPassManager &)> addPasses) {
  PassManager manager(module.getContext(), ModuleOp::getOperationName());
  manager.enableVerifier(true);
  addPasses(manager);
  return manager.run(module);
}

/// Inputs and initializers that the loss depends on by way of floats.
static SmallVector<std::string> findParameters(onnxir::GraphOp graph,
                                               StringRef loss) {
  Block &block = graph.getBody().front();
  SmallVector<Value> candidates;
  for (BlockArgument input : block.getArguments())
    candidates.push_back(input);
  for (auto initializer : block.getOps<onnxir::InitializerOp>())
    if (!initializer.getOverridable())
      candidates.push_back(initializer.getResult());
  SmallVector<std::string> names;
  for (Value value : candidates) {
    StringRef name = onnxir::getValueName(value);
    if (!isDifferentiable(value) || name.empty() || name == "labels")
      continue;
    bool reaches =
        llvm::any_of(findDependents(block, value), [&](Value dependent) {
          return onnxir::getValueName(dependent) == loss;
        });
    if (reaches)
      names.push_back(name.str());
  }
  return names;
}

/// A loss by the size of the graph: the same one for the same input.
static StringRef chooseLoss(onnxir::GraphOp graph) {
  static constexpr StringLiteral losses[] = {
      "mse", "softmax-cross-entropy", "mse", "bce", "mse", "nll"};
  size_t size = graph.getBody().front().getOperations().size();
  return losses[size % std::size(losses)];
}

static LogicalResult differentiateAll(ModuleOp module) {
  auto graph = getMainGraph(module);
  if (!graph)
    return success();
  if (failed(run(module, [&](OpPassManager &pm) {
        RaiseOpsetOptions raising;
        raising.atLeast = minDifferentiableOpset;
        pm.addPass(createRaiseOpset(raising));
        pm.addPass(createAddLoss({{chooseLoss(graph).str()}, /*classAxis=*/1}));
      })))
    return failure();
  auto loss = graph->getAttrOfType<StringAttr>("mp.loss");
  DifferentiateOptions options;
  llvm::append_range(options.wrt, findParameters(graph, loss.getValue()));
  options.outputs = true;
  return run(module, [&](OpPassManager &pm) {
    pm.addPass(createDifferentiate(options));
    pm.addPass(createDecomposeGradients({/*contractions=*/true}));
  });
}

LogicalResult train(ModuleOp module, bool half) {
  LogicalResult made = module.getOps<onnxir::TrainingOp>().empty()
                           ? differentiateAll(module)
                           : run(module, [](OpPassManager &pm) {
                               buildTrainingPipeline(pm, TrainingRequest());
                             });
  if (failed(made))
    return failure();
  return run(module, [&](OpPassManager &pm) {
    MixedPrecisionOptions options;
    PolicyRequest request;
    request.precision = "fp16";
    options.policy.set(request);
    if (half)
      buildMixedPrecisionPipeline(pm, options);
    buildTrainingExport(pm);
  });
}

} // namespace mp::fuzz
