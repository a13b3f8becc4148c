//===- Pipelines.cpp - Passes in the order that does a job ----------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Pipelines/Pipelines.h"

#include "Autodiff/Passes.h"
#include "Distribution/Passes.h"
#include "Graph/Passes.h"
#include "LossScaling/Passes.h"
#include "Precision/Passes.h"

#include "mp-opt/Autodiff/Autodiff.h"
#include "mp-opt/Schema/RuntimeTable.h"

#include "mlir/Pass/PassRegistry.h"

using namespace mlir;

namespace mp {

/// True if a runtime has a rule, or if it is any runtime and `ofAny`. A pass
/// reports a runtime that is not known.
static bool hasRule(StringRef runtime, RuntimeRule rule, bool ofAny) {
  if (runtime.empty() || runtime == "any")
    return ofAny;
  auto profile = RuntimeProfile::create(runtime);
  if (profile)
    return profile->has(rule);
  llvm::consumeError(profile.takeError());
  return ofAny;
}

/// True if pairs of QuantizeLinear and DequantizeLinear stay fp32: a runtime
/// that computes in fp32 has integer kernels for these only.
static bool keepsPairs(const MixedPrecisionRequest &request) {
  return hasRule(request.runtime, RuntimeRule::Storage, /*ofAny=*/false);
}

void addAssign(OpPassManager &pm, const MixedPrecisionRequest &from,
               bool keepQuantized) {
  AssignOptions options;
  options.rule = from.assign;
  options.minSaving = from.minSaving;
  options.dims = llvm::to_vector(from.dims);
  options.maxWeightCopy = from.maxWeightCopy;
  options.keepQuantized = keepQuantized || keepsPairs(from);
  options.ownScales =
      hasRule(from.runtime, RuntimeRule::OwnScales, /*ofAny=*/false);
  // The table of a runtime says which types it takes.
  options.microsoftPairs = !from.runtime.empty() && from.runtime != "any";
  options.requantizedBiases =
      hasRule(from.runtime, RuntimeRule::RequantizedBiases, /*ofAny=*/true);
  pm.addPass(createAssign(options));
}

MixedPrecisionRequest MixedPrecisionOptions::getRequest() const {
  MixedPrecisionRequest all = request.get();
  all.policy = policy.get();
  return all;
}

void MixedPrecisionOptions::setRequest(const MixedPrecisionRequest &from) {
  request.set(from);
  policy.set(from.policy);
}

/// Puts texts that may contain commas into braces: a printed pipeline must be
/// readable again.
static SmallVector<std::string> putInBraces(ArrayRef<std::string> texts) {
  SmallVector<std::string> braced;
  for (const std::string &text : texts)
    braced.push_back("{" + text + "}");
  return braced;
}

void buildMixedPrecisionPipeline(OpPassManager &pm,
                                 const MixedPrecisionOptions &options,
                                 const MixedPrecisionHooks &hooks) {
  MixedPrecisionRequest request = options.getRequest();
  std::string runtime = request.runtime == "any" ? "" : request.runtime;
  bool keepQuantized = options.keepQuantized || keepsPairs(request);
  if (hooks.beforeAssign || hooks.afterAssign)
    pm.addPass(createInlineFunctions());
  pm.addPass(createSpecializeFunctions());
  if (!request.inputRanges.empty()) {
    SetInputRangesOptions stating;
    stating.ranges = putInBraces(request.inputRanges);
    pm.addPass(createSetInputRanges(stating));
  }
  pm.addPass(createSetPolicy(request.policy));
  pm.addPass(createInjectLossScaling({options.lossScale}));
  pm.addPass(createAnnotateUpdates());
  pm.addPass(createAnnotateComposites());
  pm.addPass(createAnnotateShapeArithmetic());
  pm.addPass(createAnnotateLongReductions());
  pm.addPass(createAnnotateMasks());
  pm.addPass(createAnnotateRanges());
  pm.addPass(createAnnotateStates());
  pm.addPass(createAnnotateSensitiveValues());
  if (hooks.observe)
    hooks.observe(pm);
  AnnotateObservedRangesOptions observed;
  observed.headRoom = request.headRoom;
  observed.trustData = request.trustData;
  pm.addPass(createAnnotateObservedRanges(observed));
  pm.addPass(createSetIOTypes());
  pm.addPass(createClassify());
  if (request.raiseOpset) {
    RaiseOpsetOptions raising;
    raising.limit = request.opsetLimit;
    raising.runtime = runtime;
    raising.keepQuantized = keepQuantized;
    pm.addPass(createRaiseOpset(raising));
    pm.addPass(createClassify());
  }
  // Rules by name have found their nodes.
  pm.addPass(createFoldQuantizedCasts({keepQuantized}));
  pm.addPass(createRemoveCasts());
  if (!runtime.empty())
    pm.addPass(createAnnotateRuntime({runtime, /*precision=*/""}));
  if (hooks.beforeAssign)
    hooks.beforeAssign(pm);
  addAssign(pm, request, options.keepQuantized);
  if (hooks.afterAssign)
    hooks.afterAssign(pm);
  pm.addPass(createCheckStrict());
  pm.addPass(createCheckInputs());
  pm.addPass(createInsertCasts());
  pm.addPass(createSimplifyCasts());
  pm.addPass(createNarrowSaved());
  pm.addPass(createConvertIO());
  pm.addPass(createConvertWeights({request.maxWeightCopy}));
  if (!runtime.empty())
    pm.addPass(createStoreWeights());
  VerifyPrecisionOptions verify;
  verify.keepMarks = options.keepMarks;
  pm.addPass(createVerifyPrecision(verify));
  if (hooks.addReports)
    hooks.addReports(pm);
  pm.addPass(createMergeFunctions());
  if (options.distribute)
    pm.addPass(createDistribute());
  pm.addPass(createExpandLossScaling());
}

void buildIOPipeline(OpPassManager &pm, ArrayRef<std::string> io,
                     bool raiseOpset) {
  auto asksFor = [&](StringRef type) {
    return llvm::any_of(
        io, [&](StringRef rule) { return rule.contains_insensitive(type); });
  };
  AnnotateSensitiveValuesOptions annotating;
  annotating.precision = asksFor("bf") ? "bf16" : "fp16";
  pm.addPass(createAnnotateSensitiveValues(annotating));
  SetIOTypesOptions setting;
  setting.io = putInBraces(io);
  pm.addPass(createSetIOTypes(setting));
  if (raiseOpset)
    pm.addPass(createRaiseOpset());
  pm.addPass(createConvertIO());
}

static AddOptimizerOptions getOptimizerOptions(const TrainingRequest &from) {
  AddOptimizerOptions options;
  options.optimizer = from.optimizer;
  options.learningRate = from.learningRate;
  options.weightDecay = from.weightDecay;
  options.clipNorm = from.clipNorm;
  options.clipValue = from.clipValue;
  options.accumulate = from.accumulate;
  options.groups = putInBraces(from.groups);
  options.average = from.average;
  return options;
}

void buildTrainingPipeline(OpPassManager &pm, const TrainingRequest &request) {
  bool hasAlgorithm = request.loss.empty();
  if (hasAlgorithm)
    pm.addPass(createInlineTraining());
  pm.addPass(createInlineFunctions());
  if (!hasAlgorithm) {
    StopGradientsOptions stopping;
    stopping.patterns = llvm::to_vector(request.stopGradient);
    pm.addPass(createStopGradients(stopping));
  }
  RaiseOpsetOptions raising;
  raising.atLeast = minDifferentiableOpset;
  pm.addPass(createRaiseOpset(raising));
  if (hasAlgorithm) {
    pm.addPass(createExpandTraining());
    pm.addPass(createDecomposeGradients({/*contractions=*/true}));
    return;
  }
  // CheckExport runs before FixSizes: it must see which sizes the exporter left
  // open.
  pm.addPass(createCheckExport());
  FixSizesOptions fixing;
  fixing.fixed = llvm::to_vector(request.fixed);
  pm.addPass(createFixSizes(fixing));
  pm.addPass(createFoldConstants());
  pm.addPass(createStackSequences());
  pm.addPass(createFoldSequences());
  pm.addPass(createJoinSegments());
  AddLossOptions adding;
  adding.losses = putInBraces(request.loss);
  adding.classAxis = request.classAxis;
  pm.addPass(createAddLoss(adding));
  SelectParametersOptions selecting;
  selecting.trainOnly = llvm::to_vector(request.trainOnly);
  selecting.freeze = llvm::to_vector(request.freeze);
  selecting.tie = llvm::to_vector(request.tie);
  selecting.untie = llvm::to_vector(request.untie);
  pm.addPass(createSelectParameters(selecting));
  DifferentiateOptions differentiating;
  differentiating.straightThrough = request.straightThrough;
  differentiating.outputs = request.optimizer == "none";
  pm.addPass(createDifferentiate(differentiating));
  if (request.optimizer != "none")
    pm.addPass(createAddOptimizer(getOptimizerOptions(request)));
  if (request.syncBatchNorm)
    pm.addPass(createSyncBatchNorm());
  pm.addPass(createDecomposeGradients({/*contractions=*/true}));
}

void buildTrainingExport(OpPassManager &pm, bool distribute) {
  pm.addPass(createDecomposeGradients());
  if (distribute)
    pm.addPass(createDistribute());
  pm.addPass(createExpandLossScaling());
}

void buildEmulationPipeline(OpPassManager &pm) {
  pm.addPass(createSpecializeFunctions());
  pm.addPass(createEmulate());
  pm.addPass(createMergeFunctions({"f32"}));
}

/// Like PassPipelineRegistration, which prints errors of options wherever the
/// pipeline is requested; here they are passed to the caller.
template <typename Options>
static void registerPipeline(StringRef name, StringRef description,
                             void (*build)(OpPassManager &, const Options &)) {
  auto add = [build](OpPassManager &pm, StringRef text,
                     function_ref<LogicalResult(const Twine &)> onError) {
    Options options;
    std::string found;
    llvm::raw_string_ostream os(found);
    if (failed(options.parseFromString(text, os)))
      return onError(StringRef(found).trim());
    build(pm, options);
    return success();
  };
  registerPassPipeline(
      name, description, add,
      [](function_ref<void(const mlir::detail::PassOptions &)> handle) {
        handle(Options());
      });
}

void registerPipelines() {
  registerPipeline<MixedPrecisionOptions>(
      "mp-mixed-precision",
      "Rewrite a model to compute in 16 bit where that is safe",
      [](OpPassManager &pm, const MixedPrecisionOptions &options) {
        buildMixedPrecisionPipeline(pm, options);
      });
  registerPipeline<TrainingOptions>(
      "mp-train", "Make a training step of a forward model",
      [](OpPassManager &pm, const TrainingOptions &options) {
        buildTrainingPipeline(pm, options.request.get());
      });
  registerPipeline<LoweringOptions>(
      "mp-lower-to-llvm", "Write loops on tensors in LLVM's dialect",
      [](OpPassManager &pm, const LoweringOptions &options) {
        buildLoweringPipeline(pm, options);
      });
  registerPipeline<GPULoweringOptions>(
      "mp-lower-to-gpu", "Write loops on tensors as launches of kernels",
      [](OpPassManager &pm, const GPULoweringOptions &options) {
        buildGPUFormation(pm, options.inPlace);
      });
  registerPipeline<GPULoweringOptions>(
      "mp-lower-to-nvvm", "The same, and kernels in NVVM's dialect",
      [](OpPassManager &pm, const GPULoweringOptions &options) {
        buildGPULoweringPipeline(pm, options);
      });
  registerPipeline<ROCDLLoweringOptions>(
      "mp-lower-to-rocdl", "The same for AMD's GPUs, in ROCDL's dialect",
      [](OpPassManager &pm, const ROCDLLoweringOptions &options) {
        buildROCDLLoweringPipeline(pm, options);
      });
}

} // namespace mp
