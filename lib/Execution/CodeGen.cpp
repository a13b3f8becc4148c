//===- CodeGen.cpp - Machine code for a model -----------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The in-process compiler and files use the same code, so that a program and a
// library of one model give the same bits on one machine.
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Execution/CodeGen.h"

#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/SmallVectorMemoryBuffer.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/TargetParser/Host.h"

namespace mp {

CodeTarget CodeTarget::getHost() {
  CodeTarget target;
  target.triple = llvm::sys::getDefaultTargetTriple();
  target.cpu = llvm::sys::getHostCPUName().str();
  for (auto &feature : llvm::sys::getHostCPUFeatures())
    target.features += (target.features.empty() ? "" : ",") +
                       std::string(feature.second ? "+" : "-") +
                       feature.first().str();
  return target;
}

llvm::StringRef getKernelISA(const llvm::TargetMachine &machine) {
  const llvm::Triple &triple = machine.getTargetTriple();
  if (triple.getArch() == llvm::Triple::aarch64)
    return "neon";
  if (triple.getArch() != llvm::Triple::x86_64)
    return "";
  const llvm::MCSubtargetInfo &processor = *machine.getMCSubtargetInfo();
  return processor.checkFeatures("+avx512f,+avx512bw,+avx512vl") ? "avx512"
                                                                 : "avx2";
}

/// Without what is absent.
static CodeTarget complete(const CodeTarget &given) {
  if (given.isHost())
    return CodeTarget::getHost();
  CodeTarget target = given;
  if (target.triple.empty())
    target.triple = llvm::sys::getDefaultTargetTriple();
  if (target.cpu.empty())
    target.cpu = llvm::Triple(target.triple).isX86() ? "x86-64-v3" : "generic";
  return target;
}

llvm::Expected<std::unique_ptr<llvm::TargetMachine>>
createTargetMachine(const CodeTarget &given) {
  static const bool isInitialized = [] {
    llvm::InitializeAllTargetInfos();
    llvm::InitializeAllTargets();
    llvm::InitializeAllTargetMCs();
    llvm::InitializeAllAsmPrinters();
    return true;
  }();
  (void)isInitialized;
  CodeTarget target = complete(given);
  llvm::Triple triple(llvm::Triple::normalize(target.triple));
  std::string error;
  const llvm::Target *found = llvm::TargetRegistry::lookupTarget(triple, error);
  if (!found)
    return llvm::createStringError("target '" + target.triple + "': " + error);
  llvm::TargetOptions options;
  // Products and sums in source order may become one instruction.
  options.AllowFPOpFusion = llvm::FPOpFusion::Standard;
  auto create = [&](llvm::StringRef cpu, llvm::StringRef features) {
    return std::unique_ptr<llvm::TargetMachine>(found->createTargetMachine(
        triple, cpu, features, options, llvm::Reloc::PIC_, std::nullopt,
        llvm::CodeGenOptLevel::Default));
  };
  std::unique_ptr<llvm::TargetMachine> any = create("", "");
  if (!any)
    return llvm::createStringError("target '" + target.triple +
                                   "' makes no code");
  // LLVM goes on without a processor that it does not know.
  if (!any->getMCSubtargetInfo()->isCPUStringValid(target.cpu))
    return llvm::createStringError("unknown processor '" + target.cpu +
                                   "' of target '" + target.triple + "'");
  return create(target.cpu, target.features);
}

void registerTranslations(mlir::DialectRegistry &registry) {
  mlir::registerBuiltinDialectTranslation(registry);
  mlir::registerLLVMDialectTranslation(registry);
}

std::unique_ptr<llvm::Module> translateToLLVM(mlir::ModuleOp module,
                                              llvm::LLVMContext &context,
                                              llvm::TargetMachine &machine) {
  std::unique_ptr<llvm::Module> result =
      mlir::translateModuleToLLVMIR(module, context);
  if (!result)
    return nullptr;
  result->setTargetTriple(machine.getTargetTriple());
  result->setDataLayout(machine.createDataLayout());
  llvm::StringRef cpu = machine.getTargetCPU();
  llvm::StringRef features = machine.getTargetFeatureString();
  for (llvm::Function &function : *result) {
    if (function.isDeclaration())
      continue;
    function.addFnAttr("target-cpu", cpu);
    function.addFnAttr("target-features", features);
    // Whole registers, also where the processor would rather not.
    function.addFnAttr("prefer-vector-width", "512");
    function.addFnAttr("no-trapping-math", "true");
  }
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager cycles;
  llvm::ModuleAnalysisManager modules;
  llvm::PipelineTuningOptions tuning;
  tuning.LoopVectorization = true;
  tuning.SLPVectorization = false;
  tuning.LoopInterleaving = true;
  llvm::PassBuilder builder(&machine, tuning);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(cycles);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, cycles, modules);
  llvm::ModulePassManager pipeline =
      builder.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O3);
  pipeline.run(*result, modules);
  return result;
}

llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>>
emitObject(llvm::Module &module, llvm::TargetMachine &machine) {
  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream os(bytes);
  llvm::legacy::PassManager passes;
  if (machine.addPassesToEmitFile(passes, os, nullptr,
                                  llvm::CodeGenFileType::ObjectFile))
    return llvm::createStringError("this target writes no object files");
  passes.run(module);
  return std::make_unique<llvm::SmallVectorMemoryBuffer>(
      std::move(bytes), "model.o", /*RequiresNullTerminator=*/false);
}

} // namespace mp
