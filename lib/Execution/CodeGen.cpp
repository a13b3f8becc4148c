//===- CodeGen.cpp - Machine code for a model -----------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The in-process compiler and the writer of files use the same code, so that a
// program and a library of one model give the same bits on one machine. Each of
// LLVM's contexts belongs to one thread, so a module is cut into pieces, in a
// deterministic way, which threads optimize in parallel.
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Execution/CodeGen.h"

#include "CodeGenSteps.h"

#include "mlir/IR/Threading.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/Bitcode/BitcodeReader.h"
#include "llvm/Bitcode/BitcodeWriter.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/PassInstrumentation.h"
#include "llvm/Linker/Linker.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/SmallVectorMemoryBuffer.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/Transforms/Scalar/LoopUnrollPass.h"
#include "llvm/Transforms/Utils/Cloning.h"

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

/// Fills in missing parts of the target.
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

/// Only these two targets are registered. LLVM's 20 others would double the
/// size of the programs, with tables that need relocation at the start of each
/// process.
static void registerTargets() {
  static const bool isInitialized = [] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
    LLVMInitializeAArch64TargetInfo();
    LLVMInitializeAArch64Target();
    LLVMInitializeAArch64TargetMC();
    LLVMInitializeAArch64AsmPrinter();
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
    return true;
  }();
  (void)isInitialized;
}

llvm::Expected<std::unique_ptr<llvm::TargetMachine>>
createTargetMachine(const CodeTarget &given) {
  registerTargets();
  CodeTarget target = complete(given);
  llvm::Triple triple(llvm::Triple::normalize(target.triple));
  std::string error;
  const llvm::Target *found = llvm::TargetRegistry::lookupTarget(triple, error);
  if (!found)
    return llvm::createStringError("target '" + target.triple +
                                   "': expected a system with x86-64 or "
                                   "aarch64");
  llvm::TargetOptions options;
  // Products and sums may be fused in source order.
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
  // LLVM ignores a processor that it does not know.
  if (!any->getMCSubtargetInfo()->isCPUStringValid(target.cpu))
    return llvm::createStringError("unknown processor '" + target.cpu +
                                   "' of target '" + target.triple + "'");
  return create(target.cpu, target.features);
}

void registerTranslations(mlir::DialectRegistry &registry) {
  mlir::registerBuiltinDialectTranslation(registry);
  mlir::registerLLVMDialectTranslation(registry);
}

/// LLVM IR for this machine, not optimized yet.
static std::unique_ptr<llvm::Module>
translate(mlir::ModuleOp module, llvm::LLVMContext &context,
          const llvm::TargetMachine &machine) {
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
    // Use whole registers even if the processor's model prefers narrower ones.
    function.addFnAttr("prefer-vector-width", "512");
    function.addFnAttr("no-trapping-math", "true");
  }
  return result;
}

/// Marks functions whose loops keep the form in which the vectorizer leaves
/// them.
constexpr llvm::StringLiteral keepsLoops = "mp-keeps-loops";

/// True if loops multiply and add vectors: tiles of products, windows, long
/// polynomials.
static bool multipliesVectors(const llvm::Function &function) {
  return llvm::any_of(
      llvm::instructions(function), [](const llvm::Instruction &instruction) {
        auto *call = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction);
        if (!call || !call->getType()->isVectorTy())
          return false;
        llvm::Intrinsic::ID id = call->getIntrinsicID();
        return id == llvm::Intrinsic::fma || id == llvm::Intrinsic::fmuladd ||
               llvm::Intrinsic::isTargetIntrinsic(id);
      });
}

/// Prevents unrolling of loops over scalars, and of loops around them. These
/// loops are vectorized and interleaved, which is all that they gain from
/// copies of their bodies. For processors that it believes to have large
/// buffers, LLVM would unroll three sums over a few thousand numbers to as many
/// instructions. Loops that move vectors, e.g. to pack operands, gain nothing
/// either. Loops that multiply vectors are left to LLVM.
static void keepLoops(llvm::Module &module,
                      llvm::PassInstrumentationCallbacks &callbacks) {
  for (llvm::Function &function : module)
    if (!function.isDeclaration() && !multipliesVectors(function))
      function.addFnAttr(keepsLoops);
  callbacks.registerShouldRunOptionalPassCallback(
      [](llvm::StringRef pass, llvm::Any unit) {
        // Before the vectorizer, only short innermost loops are unrolled.
        if (pass == llvm::LoopFullUnrollPass::name()) {
          const auto *loop = llvm::any_cast<const llvm::Loop *>(&unit);
          return !loop || (*loop)->isInnermost() ||
                 !(*loop)->getHeader()->getParent()->hasFnAttribute(keepsLoops);
        }
        // The unroll pass after the vectorizer.
        if (pass != llvm::LoopUnrollPass::name())
          return true;
        const auto *function = llvm::any_cast<const llvm::Function *>(&unit);
        return !function || !(*function)->hasFnAttribute(keepsLoops);
      });
}

void optimize(llvm::Module &module, llvm::TargetMachine &machine,
              llvm::OptimizationLevel level,
              llvm::PassInstrumentationCallbacks &callbacks) {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager cycles;
  llvm::ModuleAnalysisManager modules;
  llvm::PipelineTuningOptions tuning;
  tuning.LoopVectorization = true;
  tuning.SLPVectorization = false;
  tuning.LoopInterleaving = true;
  llvm::PassBuilder builder(&machine, tuning, std::nullopt, &callbacks);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(cycles);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, cycles, modules);
  llvm::ModulePassManager pipeline =
      builder.buildPerModuleDefaultPipeline(level);
  pipeline.run(module, modules);
}

/// The only lane that a mask selects; absent if it may select several.
static std::optional<unsigned> getSingleLane(const llvm::Value *mask) {
  auto *constant = llvm::dyn_cast<llvm::Constant>(mask);
  auto *type = llvm::dyn_cast<llvm::FixedVectorType>(mask->getType());
  if (!constant || !type)
    return std::nullopt;
  std::optional<unsigned> lane;
  for (unsigned i = 0; i < type->getNumElements(); ++i) {
    llvm::Constant *element = constant->getAggregateElement(i);
    if (element && element->isNullValue())
      continue;
    if (!element || !element->isOneValue() || lane)
      return std::nullopt;
    lane = i;
  }
  return lane;
}

/// Works around a bug of LLVM 22 (AVX-512): the masked store of a single lane
/// of a truncated vector uses a mask as wide as before the truncation, and
/// overwrites memory after it. The lane is stored as a scalar instead.
static void storeSingleLanes(llvm::Module &module) {
  for (llvm::Function &function : module)
    for (llvm::BasicBlock &block : function)
      for (llvm::Instruction &inner : llvm::make_early_inc_range(block)) {
        auto *store = llvm::dyn_cast<llvm::IntrinsicInst>(&inner);
        if (!store || store->getIntrinsicID() != llvm::Intrinsic::masked_store)
          continue;
        auto lane = getSingleLane(store->getArgOperand(store->arg_size() - 1));
        if (!lane)
          continue;
        llvm::IRBuilder<> b(store);
        llvm::Value *value =
            b.CreateExtractElement(store->getArgOperand(0), *lane);
        llvm::Value *place = b.CreateConstInBoundsGEP1_64(
            value->getType(), store->getArgOperand(1), *lane);
        uint64_t bytes =
            module.getDataLayout().getTypeStoreSize(value->getType());
        b.CreateAlignedStore(
            value, place,
            llvm::commonAlignment(store->getParamAlign(1).valueOrOne(),
                                  *lane * bytes));
        store->eraseFromParent();
      }
}

static void optimizeForHost(llvm::Module &module,
                            llvm::TargetMachine &machine) {
  llvm::PassInstrumentationCallbacks callbacks;
  keepLoops(module, callbacks);
  optimize(module, machine, llvm::OptimizationLevel::O2, callbacks);
  storeSingleLanes(module);
}

//===----------------------------------------------------------------------===//
// Pieces
//===----------------------------------------------------------------------===//

/// Lets other pieces use local definitions, which stay hidden outside of the
/// linked program or library.
static void shareDefinitions(llvm::Module &module) {
  for (llvm::GlobalValue &value : module.global_values()) {
    if (!value.hasLocalLinkage())
      continue;
    value.setLinkage(llvm::GlobalValue::ExternalLinkage);
    value.setVisibility(llvm::GlobalValue::HiddenVisibility);
    if (!value.hasName())
      value.setName("unnamed");
  }
}

/// Splits the module into pieces of bitcode with about the same number of
/// instructions. Pieces are runs of consecutive functions, since functions that
/// call each other are adjacent.
static std::vector<Bytes> cutIntoPieces(llvm::Module &module) {
  // More pieces have no benefit, since the longest function takes as long.
  constexpr unsigned numPieces = 4;
  shareDefinitions(module);
  uint64_t total = 0, sum = 0;
  for (llvm::Function &function : module)
    total += function.getInstructionCount();
  llvm::DenseMap<const llvm::GlobalValue *, unsigned> pieceOf;
  for (llvm::Function &function : module) {
    pieceOf[&function] = std::min<uint64_t>(
        numPieces - 1, sum * numPieces / std::max<uint64_t>(total, 1));
    sum += function.getInstructionCount();
  }
  std::vector<Bytes> pieces(numPieces);
  for (unsigned piece = 0; piece < numPieces; ++piece) {
    llvm::ValueToValueMapTy values;
    std::unique_ptr<llvm::Module> cut =
        llvm::CloneModule(module, values, [&](const llvm::GlobalValue *value) {
          return pieceOf.lookup(value) == piece;
        });
    llvm::raw_svector_ostream os(pieces[piece]);
    llvm::WriteBitcodeToFile(*cut, os);
  }
  return pieces;
}

static llvm::Expected<std::unique_ptr<llvm::Module>>
readPiece(const Bytes &piece, llvm::LLVMContext &context) {
  return llvm::parseBitcodeFile(
      {llvm::StringRef(piece.data(), piece.size()), "piece"}, context);
}

/// Optimizes the module's pieces in parallel; `finish` converts each of them to
/// its final bytes.
static llvm::Expected<std::vector<Bytes>>
compilePieces(mlir::ModuleOp module, const llvm::TargetMachine &machine,
              const CompileWatch &watch,
              llvm::function_ref<llvm::Error(llvm::Module &,
                                             llvm::TargetMachine &, Bytes &)>
                  finish) {
  mlir::TimingScope translation = watch.time("Translation to LLVM IR");
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> whole = translate(module, context, machine);
  if (!whole)
    return llvm::createStringError("LLVM IR could not be made");
  std::vector<Bytes> pieces = cutIntoPieces(*whole);
  whole.reset();
  translation.stop();
  watch.start("code", "pieces", pieces.size());
  mlir::TimingScope timing = watch.time("Code of pieces");
  CompileWatch inner = {watch.progress, &timing};
  std::vector<std::string> errors(pieces.size());
  auto compile = [&](Bytes &piece) -> llvm::Error {
    llvm::LLVMContext own;
    auto read = readPiece(piece, own);
    if (!read)
      return read.takeError();
    piece.clear();
    std::unique_ptr<llvm::TargetMachine> copy(
        machine.getTarget().createTargetMachine(
            machine.getTargetTriple(), machine.getTargetCPU(),
            machine.getTargetFeatureString(), machine.Options,
            machine.getRelocationModel(), std::nullopt, machine.getOptLevel()));
    mlir::TimingScope step = inner.time("Optimization");
    optimizeForHost(**read, *copy);
    step.stop();
    step = inner.time("Code generation");
    llvm::Error error = finish(**read, *copy, piece);
    inner.advance();
    return error;
  };
  mlir::parallelFor(module.getContext(), 0, pieces.size(), [&](size_t index) {
    if (llvm::Error error = compile(pieces[index]))
      errors[index] = llvm::toString(std::move(error));
  });
  for (const std::string &error : errors)
    if (!error.empty())
      return llvm::createStringError(error);
  return pieces;
}

llvm::Expected<std::unique_ptr<llvm::Module>>
translateToLLVM(mlir::ModuleOp module, llvm::LLVMContext &context,
                const llvm::TargetMachine &machine, const CompileWatch &watch) {
  auto pieces = compilePieces(
      module, machine, watch,
      [](llvm::Module &piece, llvm::TargetMachine &, Bytes &bytes) {
        llvm::raw_svector_ostream os(bytes);
        llvm::WriteBitcodeToFile(piece, os);
        return llvm::Error::success();
      });
  if (!pieces)
    return pieces.takeError();
  std::unique_ptr<llvm::Module> result;
  for (const Bytes &bytes : *pieces) {
    auto piece = readPiece(bytes, context);
    if (!piece)
      return piece.takeError();
    if (!result)
      result = std::move(*piece);
    else if (llvm::Linker::linkModules(*result, std::move(*piece)))
      return llvm::createStringError("LLVM IR could not be linked");
  }
  return result;
}

static llvm::Error writeObject(llvm::Module &module,
                               llvm::TargetMachine &machine, Bytes &bytes) {
  llvm::raw_svector_ostream os(bytes);
  llvm::legacy::PassManager passes;
  if (machine.addPassesToEmitFile(passes, os, nullptr,
                                  llvm::CodeGenFileType::ObjectFile))
    return llvm::createStringError("this target writes no object files");
  passes.run(module);
  return llvm::Error::success();
}

static std::unique_ptr<llvm::MemoryBuffer> makeBuffer(Bytes bytes) {
  return std::make_unique<llvm::SmallVectorMemoryBuffer>(
      std::move(bytes), "model.o", /*RequiresNullTerminator=*/false);
}

llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>>
emitObject(llvm::Module &module, llvm::TargetMachine &machine) {
  Bytes bytes;
  if (llvm::Error error = writeObject(module, machine, bytes))
    return error;
  return makeBuffer(std::move(bytes));
}

llvm::Expected<std::vector<std::unique_ptr<llvm::MemoryBuffer>>>
emitObjects(mlir::ModuleOp module, const llvm::TargetMachine &machine,
            const CompileWatch &watch) {
  auto pieces = compilePieces(module, machine, watch, writeObject);
  if (!pieces)
    return pieces.takeError();
  std::vector<std::unique_ptr<llvm::MemoryBuffer>> objects;
  for (Bytes &bytes : *pieces)
    objects.push_back(makeBuffer(std::move(bytes)));
  return objects;
}

} // namespace mp
