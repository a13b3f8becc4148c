//===- EmitPTX.cpp - Kernels for NVIDIA's driver --------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// LLVM's NVPTX ends the process for an unknown chip or version, so both are
// checked first. Kernels are independent: they are divided into images, in a
// deterministic way, each with the variables and functions that its kernels
// use.
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Execution/EmitPTX.h"

#include "AssemblePTX.h"
#include "CodeGenSteps.h"
#include "CubinInfo.h"

#include "mlir/IR/Threading.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/GPU/GPUToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/NVVM/NVVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/Bitcode/BitcodeReader.h"
#include "llvm/Bitcode/BitcodeWriter.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/PassInstrumentation.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Transforms/Utils/Cloning.h"

using namespace mlir;

namespace mp {

//===----------------------------------------------------------------------===//
// Chips
//===----------------------------------------------------------------------===//

namespace {
struct Chip {
  StringLiteral name;
  unsigned architecture;
  bool isSpecific;
  /// The first version of PTX that supports it.
  unsigned version;
};
} // namespace

/// Chips with asynchronous copies and 16-bit products of both kinds.
static constexpr Chip chips[] = {
    {"sm_80", 80, false, 70},   {"sm_86", 86, false, 71},
    {"sm_87", 87, false, 74},   {"sm_89", 89, false, 78},
    {"sm_90", 90, false, 78},   {"sm_90a", 90, true, 80},
    {"sm_100", 100, false, 86}, {"sm_100a", 100, true, 86},
    {"sm_103", 103, false, 88}, {"sm_103a", 103, true, 88},
    {"sm_120", 120, false, 87}, {"sm_120a", 120, true, 87},
    {"sm_121", 121, false, 88}, {"sm_121a", 121, true, 88},
};
/// The version that drivers for CUDA 12 compile, and the newest that LLVM
/// writes.
static constexpr unsigned commonVersion = 80, newestVersion = 88;
/// Bytes of a kernel's parameters up to a version of PTX, and the first version
/// that has room for 32 764 (PTX ISA, "Kernel Function Parameter Attributes").
static constexpr uint64_t commonParameters = 4096;
static constexpr unsigned manyParameters = 81;

static llvm::Expected<Chip> findChip(const PTXTarget &target) {
  std::string known;
  for (const Chip &chip : chips) {
    if (chip.name != target.chip) {
      known += (known.empty() ? "" : ", ") + chip.name.str();
      continue;
    }
    Chip found = chip;
    unsigned asked = target.version ? target.version : commonVersion;
    if (target.version && (asked < chip.version || asked > newestVersion))
      return llvm::createStringError(
          "PTX " + Twine(asked / 10) + "." + Twine(asked % 10) + " for " +
          chip.name + ": expected " + Twine(chip.version / 10) + "." +
          Twine(chip.version % 10) + " to " + Twine(newestVersion / 10) + "." +
          Twine(newestVersion % 10));
    found.version = std::max(asked, chip.version);
    return found;
  }
  return llvm::createStringError("chip '" + target.chip +
                                 "': expected one of " + known);
}

llvm::Expected<std::vector<PTXTarget>> parsePTXTargets(StringRef text) {
  std::vector<PTXTarget> targets;
  for (StringRef part : llvm::split(text, ',')) {
    PTXTarget target;
    target.isCubin = part.consume_back(":cubin");
    target.chip = part.str();
    if (llvm::Expected<Chip> chip = findChip(target); !chip)
      return chip.takeError();
    for (const PTXTarget &other : targets)
      if (other.chip == target.chip && other.isCubin == target.isCubin)
        return llvm::createStringError("chip '" + target.chip +
                                       "' is there twice");
    targets.push_back(std::move(target));
  }
  return targets;
}

static std::unique_ptr<llvm::TargetMachine> createMachine(const Chip &chip) {
  static const bool isInitialized = [] {
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
    return true;
  }();
  (void)isInitialized;
  llvm::Triple triple("nvptx64-nvidia-cuda");
  std::string error;
  const llvm::Target *found = llvm::TargetRegistry::lookupTarget(triple, error);
  if (!found)
    return nullptr;
  llvm::TargetOptions options;
  // Products and sums are fused in source order, as on processors.
  options.AllowFPOpFusion = llvm::FPOpFusion::Standard;
  return std::unique_ptr<llvm::TargetMachine>(found->createTargetMachine(
      triple, chip.name, "+ptx" + std::to_string(chip.version), options,
      std::nullopt, std::nullopt, llvm::CodeGenOptLevel::Aggressive));
}

//===----------------------------------------------------------------------===//
// LLVM IR
//===----------------------------------------------------------------------===//

static bool isKernel(const llvm::Function &function) {
  return function.getCallingConv() == llvm::CallingConv::PTX_Kernel;
}

/// Fails if a function is called that is not defined: devices have no library.
static llvm::Error checkCalls(const llvm::Module &module) {
  for (const llvm::Function &function : module) {
    if (!function.isDeclaration() || function.isIntrinsic() ||
        function.use_empty())
      continue;
    const auto *user =
        dyn_cast<llvm::Instruction>(function.use_begin()->getUser());
    return llvm::createStringError(
        "kernel '" + (user ? user->getFunction()->getName() : "?") +
        "' calls '" + function.getName() + "', which devices do not have");
  }
  return llvm::Error::success();
}

static llvm::Expected<std::unique_ptr<llvm::Module>>
translate(gpu::GPUModuleOp kernels, llvm::LLVMContext &context,
          const llvm::TargetMachine &machine) {
  std::unique_ptr<llvm::Module> module =
      translateModuleToLLVMIR(kernels, context);
  if (!module)
    return llvm::createStringError("LLVM IR could not be made");
  module->setTargetTriple(machine.getTargetTriple());
  module->setDataLayout(machine.createDataLayout());
  for (llvm::Function &function : *module) {
    if (function.isDeclaration())
      continue;
    function.addFnAttr("no-trapping-math", "true");
    // Functions are copied into each image that calls them.
    if (!isKernel(function))
      function.setLinkage(llvm::GlobalValue::InternalLinkage);
  }
  for (llvm::GlobalVariable &variable : module->globals())
    if (!variable.isDeclaration())
      variable.setLinkage(llvm::GlobalValue::InternalLinkage);
  if (llvm::Error failed = checkCalls(*module))
    return failed;
  return module;
}

namespace {
/// Some of the kernels, as bitcode, then as PTX.
struct Piece {
  std::vector<std::string> kernels;
  /// The first version of PTX that supports the size of their parameters.
  unsigned version = 0;
  Bytes bytes;
  std::vector<KernelCounts> counts;
};

/// The output that is requested of a piece.
struct Work {
  bool isCubin = false;
  /// Kernels are counted for these launches; null if they are not.
  const LaunchShapes *shapes = nullptr;
};
} // namespace

static unsigned findVersion(const llvm::Function &kernel) {
  const llvm::DataLayout &layout = kernel.getDataLayout();
  uint64_t bytes = 0;
  for (const llvm::Argument &argument : kernel.args())
    bytes = llvm::alignTo(bytes, layout.getABITypeAlign(argument.getType())) +
            layout.getTypeAllocSize(argument.getType());
  return bytes > commonParameters ? manyParameters : 0;
}

/// Runs of kernels of about the same size.
static std::vector<Piece> cutIntoPieces(llvm::Module &module) {
  // More images have no benefit, since the driver compiles them one after the
  // other.
  constexpr size_t numPieces = 4;
  uint64_t total = 0, sum = 0;
  for (llvm::Function &function : module)
    total += isKernel(function) ? function.getInstructionCount() : 0;
  std::vector<llvm::SmallPtrSet<const llvm::GlobalValue *, 16>> members(
      numPieces);
  std::vector<Piece> pieces(numPieces);
  for (llvm::Function &function : module) {
    if (!isKernel(function) || function.isDeclaration())
      continue;
    size_t piece = std::min<uint64_t>(
        numPieces - 1, sum * numPieces / std::max<uint64_t>(total, 1));
    sum += function.getInstructionCount();
    members[piece].insert(&function);
    pieces[piece].kernels.push_back(function.getName().str());
    pieces[piece].version =
        std::max(pieces[piece].version, findVersion(function));
  }
  for (size_t index = 0; index < numPieces; ++index) {
    llvm::ValueToValueMapTy values;
    std::unique_ptr<llvm::Module> cut =
        llvm::CloneModule(module, values, [&](const llvm::GlobalValue *value) {
          auto *function = dyn_cast<llvm::Function>(value);
          return !function || !isKernel(*function) ||
                 members[index].contains(function);
        });
    // Remove unused declarations of functions from other images.
    for (llvm::Function &function : llvm::make_early_inc_range(*cut))
      if (function.isDeclaration() && function.use_empty())
        function.eraseFromParent();
    llvm::raw_svector_ostream os(pieces[index].bytes);
    llvm::WriteBitcodeToFile(*cut, os);
  }
  llvm::erase_if(pieces,
                 [](const Piece &piece) { return piece.kernels.empty(); });
  return pieces;
}

//===----------------------------------------------------------------------===//
// PTX
//===----------------------------------------------------------------------===//

/// Counts kernels of an optimized module.
static void countKernels(Piece &piece, const llvm::Module &module,
                         const LaunchShapes &shapes,
                         llvm::TargetMachine &machine) {
  std::unique_ptr<llvm::Module> copy = llvm::CloneModule(module);
  prepareCounting(*copy, machine);
  for (const std::string &kernel : piece.kernels)
    piece.counts.push_back(countKernel(*copy->getFunction(kernel),
                                       shapes.lookup(kernel), machine));
}

/// Replaces estimates by the resources that machine code needs. They stay if
/// the assembler is too old for the chip, or its code has another form.
static void setResources(Piece &piece, llvm::Expected<std::string> cubin) {
  llvm::Expected<llvm::StringMap<CubinKernel>> found =
      cubin ? readCubin(*cubin) : cubin.takeError();
  if (!found)
    return llvm::consumeError(found.takeError());
  for (auto [name, counts] : llvm::zip_equal(piece.kernels, piece.counts)) {
    auto kernel = found->find(name);
    if (kernel == found->end())
      continue;
    counts.registers = kernel->second.registers;
    counts.staticShared = kernel->second.shared;
    counts.isEstimated = false;
  }
}

static llvm::Error compile(Piece &piece, Chip chip, Work work,
                           const CompileWatch &watch) {
  piece.version = chip.version = std::max(piece.version, chip.version);
  llvm::LLVMContext context;
  auto module = llvm::parseBitcodeFile(
      {StringRef(piece.bytes.data(), piece.bytes.size()), "kernels"}, context);
  if (!module)
    return module.takeError();
  piece.bytes.clear();
  std::unique_ptr<llvm::TargetMachine> machine = createMachine(chip);
  mlir::TimingScope step = watch.time("Optimization");
  llvm::PassInstrumentationCallbacks callbacks;
  optimize(**module, *machine, llvm::OptimizationLevel::O3, callbacks);
  step.stop();
  if (work.shapes)
    countKernels(piece, **module, *work.shapes, *machine);
  if (work.shapes && !work.isCubin) {
    watch.advance();
    return llvm::Error::success();
  }
  step = watch.time("Code generation");
  llvm::raw_svector_ostream os(piece.bytes);
  llvm::legacy::PassManager passes;
  if (machine->addPassesToEmitFile(passes, os, nullptr,
                                   llvm::CodeGenFileType::AssemblyFile))
    return llvm::createStringError("this LLVM writes no PTX");
  passes.run(**module);
  step.stop();
  if (work.isCubin) {
    step = watch.time("Assembly");
    auto cubin =
        assemblePTX({piece.bytes.data(), piece.bytes.size()}, chip.name);
    if (work.shapes)
      setResources(piece, std::move(cubin));
    else if (!cubin)
      return cubin.takeError();
    else
      piece.bytes.assign(cubin->begin(), cubin->end());
  }
  watch.advance();
  return llvm::Error::success();
}

static void registerTranslations(MLIRContext &context) {
  DialectRegistry registry;
  registerBuiltinDialectTranslation(registry);
  registerGPUDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
  registerNVVMDialectTranslation(registry);
  context.appendDialectRegistry(registry);
}

static llvm::Expected<std::vector<Piece>>
compilePieces(gpu::GPUModuleOp kernels, const Chip &chip, Work work,
              const CompileWatch &watch) {
  std::unique_ptr<llvm::TargetMachine> machine = createMachine(chip);
  if (!machine)
    return llvm::createStringError("this LLVM has no NVPTX");
  registerTranslations(*kernels.getContext());
  mlir::TimingScope translation = watch.time("Translation to LLVM IR");
  llvm::LLVMContext context;
  auto module = translate(kernels, context, *machine);
  if (!module)
    return module.takeError();
  std::vector<Piece> pieces = cutIntoPieces(**module);
  translation.stop();
  watch.start("PTX", "pieces", pieces.size());
  mlir::TimingScope timing = watch.time("Code of pieces");
  CompileWatch inner = {watch.progress, &timing};
  std::vector<std::string> errors(pieces.size());
  parallelFor(kernels.getContext(), 0, pieces.size(), [&](size_t index) {
    if (llvm::Error error = compile(pieces[index], chip, work, inner))
      errors[index] = llvm::toString(std::move(error));
  });
  for (const std::string &error : errors)
    if (!error.empty())
      return llvm::createStringError(error);
  return pieces;
}

llvm::Expected<std::vector<PTXImage>> emitPTX(gpu::GPUModuleOp kernels,
                                              const PTXTarget &target,
                                              const CompileWatch &watch) {
  llvm::Expected<Chip> chip = findChip(target);
  if (!chip)
    return chip.takeError();
  auto pieces = compilePieces(kernels, *chip, {target.isCubin, nullptr}, watch);
  if (!pieces)
    return pieces.takeError();
  std::vector<PTXImage> images;
  for (Piece &piece : *pieces)
    images.push_back({{target.isCubin ? DevicePlan::ImageKind::Cubin
                                      : DevicePlan::ImageKind::PTX,
                       chip->architecture, chip->isSpecific, piece.version,
                       std::string(piece.bytes.begin(), piece.bytes.end())},
                      std::move(piece.kernels),
                      {}});
  return images;
}

llvm::Expected<std::vector<PTXImage>> countPTX(gpu::GPUModuleOp kernels,
                                               StringRef chipName,
                                               const LaunchShapes &shapes,
                                               const CompileWatch &watch) {
  PTXTarget target;
  target.chip = chipName.str();
  llvm::Expected<Chip> chip = findChip(target);
  if (!chip)
    return chip.takeError();
  auto pieces = compilePieces(kernels, *chip, {hasAssembler(), &shapes}, watch);
  if (!pieces)
    return pieces.takeError();
  std::vector<PTXImage> images;
  for (Piece &piece : *pieces)
    images.push_back({{}, std::move(piece.kernels), std::move(piece.counts)});
  return images;
}

} // namespace mp
