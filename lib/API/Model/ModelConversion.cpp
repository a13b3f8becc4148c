//===- ModelConversion.cpp - From a model to a mixed one ------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/API/Model/ModelConversion.h"

#include "CallPass.h"

#include "mp-opt/API/Model/Error.h"
#include "mp-opt/API/Model/Reports.h"
#include "mp-opt/Dialect/ONNX/ONNX.h"
#include "mp-opt/Precision/Policy/PolicyFile.h"

#include "mp-opt/Training/Optimizers.h"

#include "Graph/Passes.h"
#include "LossScaling/Passes.h"
#include "Pipelines/Pipelines.h"
#include "Precision/Passes.h"

#include <cmath>

using namespace mlir;

namespace mp {

namespace {
class RefusalWatch : public PassInstrumentation {
public:
  explicit RefusalWatch(bool &isRefused) : isRefused(isRefused) {}
  void runAfterPassFailed(Pass *pass, Operation *) override {
    isRefused |= llvm::is_contained(checks, pass->getTypeID());
  }

private:
  std::array<TypeID, 2> checks = {createCheckStrict()->getTypeID(),
                                  createCheckRuntime()->getTypeID()};
  bool &isRefused;
};
} // namespace

//===----------------------------------------------------------------------===//
// Checks
//===----------------------------------------------------------------------===//

static llvm::Error checkUpdates(const TrainingRequest &request) {
  if (request.optimizer == "none")
    return llvm::Error::success();
  OptimizerSettings settings;
  if (llvm::Error failed = settings.parse(request.optimizer))
    return failed;
  for (const std::string &group : request.groups)
    if (llvm::Error failed = settings.addGroup(group))
      return failed;
  return settings.parseAverage(request.average);
}

llvm::Error checkTraining(const TrainingRequest &request) {
  auto expect = [](StringRef flag, StringRef what) {
    return llvm::createStringError("--" + flag + ": expected " + what);
  };
  auto isFromZero = [](double number) {
    return number >= 0 && std::isfinite(number);
  };
  if (!isFromZero(request.learningRate))
    return expect("lr", "a number from 0 on");
  if (!isFromZero(request.weightDecay))
    return expect("weight-decay", "a number from 0 on");
  if (!isFromZero(request.clipNorm))
    return expect("clip-norm", "a positive number");
  if (!isFromZero(request.clipValue))
    return expect("clip-value", "a positive number");
  if (request.accumulate < 1)
    return expect("accumulate", "a count from 1 on");
  return checkUpdates(request);
}

llvm::Error printPolicy(
    PolicyRequest request, const DialectRegistry &registry, raw_ostream &os,
    llvm::function_ref<void(DiagnosticSeverity, const Twine &)> onMessage,
    bool hasDefaults) {
  llvm::Expected<PolicyOptions> loaded = loadPolicy(request);
  if (!loaded)
    return loaded.takeError();
  for (const std::string &warning : loaded->warnings)
    onMessage(DiagnosticSeverity::Warning, warning);
  MLIRContext context(registry);
  // Messages name their node; printing the IR around it would hide them.
  context.printOpOnDiagnostic(false);
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diag) {
    onMessage(diag.getSeverity(), diag.str());
  });
  auto &dialect = *context.getOrLoadDialect<onnxir::ONNXDialect>();
  OwningOpRef<ModuleOp> module = ModuleOp::create(UnknownLoc::get(&context));
  auto policy = PrecisionPolicy::create(std::move(*loaded),
                                        [&] { return module->emitError(); });
  if (failed(policy) ||
      failed(policy->checkOperators(*module, dialect.getSchemas())))
    return makeError({ErrorKind::BadInput, "the policy is invalid",
                      /*isReported=*/true});
  printPolicy(*policy, os, hasDefaults);
  return llvm::Error::success();
}

//===----------------------------------------------------------------------===//
// Passes
//===----------------------------------------------------------------------===//

/// Adds a pass that calls a function, if there is one.
static void addCall(OpPassManager &pm, StringRef name,
                    std::function<llvm::Error(ModuleOp)> function,
                    bool compiles) {
  if (function)
    pm.addPass(std::make_unique<CallPass>(name, std::move(function), compiles));
}

static void buildMixedPrecision(OpPassManager &pm,
                                const ConversionOptions &conversion,
                                AddPassesFn addReports) {
  MixedPrecisionOptions options;
  options.distribute = conversion.training && conversion.training->distribute;
  options.setRequest(*conversion.mixed);
  // Reports read the marks of the passes and remove them.
  options.keepMarks = bool(addReports);
  options.lossScale = conversion.lossScale;
  auto observe = [&](OpPassManager &inner) {
    addCall(inner, "ObserveRanges", conversion.ranges.observe,
            conversion.ranges.compiles);
  };
  auto before = [&](OpPassManager &inner) {
    addCall(inner, "BeforeAssign", conversion.beforeAssign, /*compiles=*/true);
  };
  auto after = [&](OpPassManager &inner) {
    addCall(inner, "AfterAssign", conversion.afterAssign, /*compiles=*/true);
  };
  MixedPrecisionHooks hooks;
  hooks.observe = observe;
  hooks.addReports = addReports;
  if (conversion.beforeAssign)
    hooks.beforeAssign = before;
  if (conversion.afterAssign)
    hooks.afterAssign = after;
  buildMixedPrecisionPipeline(pm, options, hooks);
}

static void addDimensionCheck(OpPassManager &pm, ArrayRef<std::string> dims) {
  if (dims.empty())
    return;
  CheckDimensionsOptions options;
  llvm::append_range(options.dims, dims);
  pm.addPass(createCheckDimensions(options));
}

static void buildConversion(OpPassManager &pm, const ConversionOptions &options,
                            Reports *reports) {
  bool isReported = reports && reports->isWanted();
  if (options.mixed && options.ranges.start)
    addCall(
        pm, "StartRanges",
        [start = options.ranges.start](ModuleOp module) {
          start(module);
          return llvm::Error::success();
        },
        /*compiles=*/false);
  if (options.training) {
    buildTrainingPipeline(pm, *options.training);
    if (reports)
      reports->addTraining(pm);
  }
  if (isReported) {
    reports->setEmulated(options.emulate);
    reports->addStart(pm);
  }
  auto addReports = [&](OpPassManager &inner) { reports->addEnd(inner); };
  StringRef lossScale = options.lossScale;
  bool distribute = options.training && options.training->distribute;
  if (options.mixed)
    buildMixedPrecision(pm, options,
                        isReported ? AddPassesFn(addReports) : AddPassesFn());
  else if (options.training)
    pm.addPass(createInjectLossScaling(
        {(lossScale == "auto" ? "none" : lossScale).str()}));
  if (!options.mixed && !options.io.empty())
    buildIOPipeline(pm, options.io, options.raiseOpset);
  if (options.training)
    buildTrainingExport(pm, distribute && !options.mixed);
  if (options.emulate)
    buildEmulationPipeline(pm);
  if (!options.runtime.empty())
    pm.addPass(createCheckRuntime({options.runtime, options.isRuntimeLenient}));
}

LogicalResult addConversion(PassManager &pm, const ConversionOptions &options,
                            ArrayRef<std::string> dims, Reports *reports,
                            bool &isRefused,
                            llvm::function_ref<LogicalResult()> addOthers) {
  addDimensionCheck(pm, options.mixed ? ArrayRef(options.mixed->dims) : dims);
  buildConversion(pm, options, reports);
  pm.addInstrumentation(std::make_unique<RefusalWatch>(isRefused));
  if (addOthers && failed(addOthers()))
    return failure();
  // The precision passes may be among the others.
  if (reports && reports->isWanted() && !options.mixed)
    reports->addEnd(pm);
  return success();
}

} // namespace mp
