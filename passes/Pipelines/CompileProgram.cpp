//===- CompileProgram.cpp - From a model to a program ---------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Pipelines/CompileProgram.h"

#include "Graph/Passes.h"
#include "Lowering/Passes.h"
#include "Pipelines/PassFailures.h"
#include "Pipelines/Pipelines.h"
#include "mp-opt/Codegen/CPU/Strategy.h"
#include "mp-opt/Conversion/ONNXToLinalg.h"
#include "mp-opt/Dialect/Device/DeviceOps.h"
#include "mp-opt/Dialect/Kernel/Kernel.h"
#include "mp-opt/Dialect/Runtime/RuntimeOps.h"
#include "mp-opt/Execution/CodeCache.h"
#include "mp-opt/Execution/DeviceCode.h"
#include "mp-opt/Support/FreedMemory.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/TargetParser/Host.h"

#include <chrono>
#include <map>

using namespace mlir;

namespace mp {

/// Outside of passes, dialects are not loaded automatically.
static void loadDialects(MLIRContext &context) {
  DialectRegistry registry;
  registerLoweringDialects(registry);
  context.appendDialectRegistry(registry);
  context.loadDialect<arith::ArithDialect, func::FuncDialect,
                      linalg::LinalgDialect, math::MathDialect, scf::SCFDialect,
                      tensor::TensorDialect, kernel::KernelDialect, MPDialect,
                      runtime::RuntimeDialect, device::DeviceDialect>();
}

//===----------------------------------------------------------------------===//
// Lowering
//===----------------------------------------------------------------------===//

/// Replaces calls of model-local functions by their bodies.
static LogicalResult inlineFunctions(ModuleOp module, TimingScope &timing) {
  if (module.getOps<onnxir::FunctionOp>().empty())
    return success();
  PassManager pm(module.getContext());
  pm.enableVerifier(false);
  pm.addPass(createInlineFunctions());
  pm.enableTiming(timing);
  return pm.run(module);
}

/// Turns sequences that loops append to into tensors; the conversion resolves
/// the others, which must be known at compile time.
static LogicalResult stackSequences(ModuleOp module, TimingScope &timing) {
  PassManager pm(module.getContext());
  pm.enableVerifier(false);
  pm.addPass(createStackSequences());
  pm.enableTiming(timing);
  return pm.run(module);
}

static LogicalResult convertGraph(ModuleOp module,
                                  const CompileOptions &options,
                                  TimingScope &timing,
                                  LoweringFigures &figures) {
  ONNXToLinalgOptions conversion;
  conversion.excessPrecision = options.excessPrecision;
  conversion.numWatched = options.numWatched;
  conversion.dims = options.dims;
  conversion.gathersPools = options.device != DeviceKind::CPU;
  for (auto &entry : options.inputSizes)
    conversion.inputSizes[entry.getKey()] = entry.getValue();
  TimingScope step = timing.nest("ConvertONNXToLinalg");
  return convertONNXToLinalg(module, conversion, &figures.droppedRoundings);
}

static void buildLowering(PassManager &pm, const CompileOptions &options) {
  if (options.device == DeviceKind::CPU) {
    LoweringOptions lowering;
    lowering.inPlace = options.updateInPlace;
    lowering.keepPanels = options.keepPanels;
    lowering.timestamps = options.keepTimes;
    buildLoweringPipeline(pm, lowering);
    return;
  }
  GPULoweringOptions lowering;
  lowering.inPlace = options.updateInPlace;
  lowering.emulated = options.device == DeviceKind::Emulated;
  buildGPULoweringPipeline(pm, lowering);
}

static bool usesTF32(const CompileOptions &options) {
  return options.device != DeviceKind::CPU &&
         options.fp32Products == FP32Products::TF32;
}

/// Lowers the module by the passes that `build` adds.
static LogicalResult lower(ModuleOp module, const CompileOptions &options,
                           const CompileWatch &watch, LoweringFigures &figures,
                           function_ref<void(PassManager &)> build) {
  TimingScope timing = watch.time("Lowering");
  loadDialects(*module.getContext());
  PassManager pm(module.getContext());
  // The verifier is tested with the passes; here it would double their time.
  pm.enableVerifier(false);
  build(pm);
  if (watch.progress)
    watch.progress->follow(pm);
  pm.enableTiming(timing);
  module->setAttr(mark::target, options.target->getAttr(module.getContext()));
  if (options.excessPrecision)
    module->setAttr(kernel::excessPrecisionName,
                    UnitAttr::get(module.getContext()));
  if (usesTF32(options))
    module->setAttr(device::targetName,
                    device::TargetAttr::get(module.getContext(), "sm_80",
                                            device::FP32Products::TF32));
  if (failed(inlineFunctions(module, timing)) ||
      failed(stackSequences(module, timing)) ||
      failed(convertGraph(module, options, timing, figures)))
    return failure();
  figures.flops = kernel::countFlops(module);
  PassFailures failures(pm);
  LogicalResult result = pm.run(module);
  if (failed(result))
    failures.report(module);
  return result;
}

LogicalResult lowerProgram(ModuleOp module, const CompileOptions &options,
                           const CompileWatch &watch,
                           LoweringFigures &figures) {
  return lower(module, options, watch, figures,
               [&](PassManager &pm) { buildLowering(pm, options); });
}

FailureOr<DevicePlan> planProgram(ModuleOp module,
                                  const CompileOptions &options) {
  GPULoweringOptions lowering;
  lowering.inPlace = options.updateInPlace;
  LoweringFigures figures;
  CompileWatch watch = {nullptr, options.timing};
  if (failed(lower(module, options, watch, figures, [&](PassManager &pm) {
        buildGPUFormation(pm, lowering.inPlace);
      })))
    return failure();
  return makePlan(module);
}

FailureOr<DevicePlan>
countProgram(ModuleOp module, const CompileOptions &options, StringRef chip) {
  LoweringFigures figures;
  CompileWatch watch = {nullptr, options.timing};
  if (failed(lowerProgram(module, options, watch, figures)))
    return failure();
  return makeCountedPlan(module, chip, watch);
}

//===----------------------------------------------------------------------===//
// Cached code
//===----------------------------------------------------------------------===//

/// The settings of this machine that code depends on, other than the model and
/// the processor.
static std::string describeSettings(const CompileOptions &options) {
  std::string text;
  llvm::raw_string_ostream os(text);
  auto list = [&](const auto &map, auto print) {
    std::map<StringRef, typename std::decay_t<decltype(map)>::mapped_type>
        sorted;
    for (auto &entry : map)
      sorted[entry.getKey()] = entry.getValue();
    os << sorted.size() << "\n";
    for (auto &[name, value] : sorted) {
      os << name.size() << " " << name << " ";
      print(value);
      os << "\n";
    }
  };
  list(options.dims, [&](int64_t size) { os << size; });
  list(options.inputSizes,
       [&](ArrayRef<int64_t> sizes) { llvm::interleave(sizes, os, "x"); });
  os << options.updateInPlace << options.keepPanels << "\n";
  if (options.excessPrecision)
    os << "excess precision " << options.numWatched << "\n";
  os << stringifyDevice(options.device);
  if (options.device == DeviceKind::CUDA)
    os << " " << options.ptx.chip << " " << options.ptx.version;
  if (usesTF32(options))
    os << " " << device::stringifyFP32Products(device::FP32Products::TF32);
  os << "\n";
  os << stringifyInstructionSet(options.target->isa) << " "
     << stringifyProducts(options.target->products) << " "
     << options.target->isDirect;
  return text;
}

namespace {

/// Records the warnings and remarks of a compilation, and passes them on to
/// other handlers.
class MessageRecorder {
public:
  struct Message {
    Location location;
    bool isRemark;
    std::string text;
  };

  MessageRecorder(MLIRContext *context, CompileProgress *progress)
      : handler(context, [this, progress](Diagnostic &diagnostic) {
          if (progress)
            progress->clear();
          DiagnosticSeverity severity = diagnostic.getSeverity();
          bool isRemark = severity == DiagnosticSeverity::Remark;
          if (isRemark || severity == DiagnosticSeverity::Warning)
            messages.push_back(
                {diagnostic.getLocation(), isRemark, diagnostic.str()});
          return failure();
        }) {}

  ArrayRef<Message> get() const { return messages; }

private:
  std::vector<Message> messages;
  ScopedDiagnosticHandler handler;
};

/// A model and its cached code.
class KeptCode {
public:
  KeptCode(ModuleOp module, const CompileOptions &options)
      : cache(*options.cache), module(module), content(module),
        key(CodeCache::makeKey(content, describeSettings(options))) {}

  /// Returns null if the cache has no code, or if it cannot be loaded.
  std::unique_ptr<Program> load(const CompileOptions &options);
  void store(ProgramCode &code, const MessageRecorder &messages);

private:
  CodeCache &cache;
  ModuleOp module;
  ModelContent content;
  CodeCache::Key key;
};

} // namespace

std::unique_ptr<Program> KeptCode::load(const CompileOptions &options) {
  std::optional<ProgramCode> code = cache.find(key, content);
  if (!code)
    return nullptr;
  std::vector<CompileMessage> messages = std::move(code->messages);
  auto program = Program::load(std::move(*code), options.updateInPlace,
                               options.deviceNumber);
  if (!program) {
    llvm::consumeError(program.takeError());
    cache.remove(key);
    return nullptr;
  }
  // Repeat the messages of the first compilation.
  for (const CompileMessage &message : messages)
    module.getContext()->getDiagEngine().emit(content.getLocation(message.op),
                                              message.isRemark
                                                  ? DiagnosticSeverity::Remark
                                                  : DiagnosticSeverity::Warning)
        << message.text;
  (*program)->getFigures().isFromCache = true;
  return std::move(*program);
}

void KeptCode::store(ProgramCode &code, const MessageRecorder &messages) {
  for (const MessageRecorder::Message &message : messages.get())
    code.messages.push_back({content.getNumber(message.location).value_or(0),
                             message.isRemark, message.text});
  cache.store(key, code, module, content);
}

//===----------------------------------------------------------------------===//
// Programs
//===----------------------------------------------------------------------===//

static std::string describeProcessor(const CompileOptions &options) {
  if (options.device == DeviceKind::CUDA)
    return options.ptx.chip;
  std::string host = llvm::sys::getHostCPUName().str();
  return options.device == DeviceKind::CPU ? host
                                           : "an emulated GPU on " + host;
}

static std::unique_ptr<Program>
compile(ModuleOp module, const CompileOptions &options, KeptCode *kept) {
  std::optional<CompileProgress> progress;
  if (!options.title.empty())
    progress.emplace(options.title + " for " + describeProcessor(options));
  CompileWatch watch = {progress ? &*progress : nullptr, options.timing};
  MessageRecorder messages(module.getContext(), watch.progress);
  LoweringFigures figures;
  if (failed(lowerProgram(module, options, watch, figures)))
    return nullptr;
  FailureOr<ProgramCode> code = generateCode(module, options, watch);
  if (failed(code))
    return nullptr;
  code->flops = figures.flops;
  code->droppedRoundings = std::move(figures.droppedRoundings);
  if (kept)
    kept->store(*code, messages);
  TimingScope timing = watch.time("Linking");
  auto program = Program::load(std::move(*code), options.updateInPlace,
                               options.deviceNumber);
  if (!program) {
    // A device's error message itself says what is missing.
    module.emitError(options.device == DeviceKind::CPU ? "compilation failed: "
                                                       : "")
        << toString(program.takeError());
    return nullptr;
  }
  returnFreedMemory();
  if (progress)
    progress->finish();
  return std::move(*program);
}

std::unique_ptr<Program> compileProgram(ModuleOp module,
                                        const CompileOptions &options) {
  auto start = std::chrono::steady_clock::now();
  std::unique_ptr<Program> program;
  std::optional<KeptCode> kept;
  if (options.cache && options.cache->isOpen() && !options.keepTimes) {
    TimingScope timing = CompileWatch{nullptr, options.timing}.time("Cache");
    kept.emplace(module, options);
    program = kept->load(options);
  }
  if (!program)
    program = compile(module, options, kept ? &*kept : nullptr);
  if (!program)
    return nullptr;
  std::chrono::duration<double> elapsed =
      std::chrono::steady_clock::now() - start;
  program->getFigures().seconds = elapsed.count();
  return program;
}

} // namespace mp
