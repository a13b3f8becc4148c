//===- KernelEmulation.cpp - Kernels as code of the host ------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Processes one gpu.module after the other: its functions are emulated in
// place, while pointers still have address spaces; then address spaces are
// removed, and functions and variables move out.
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Codegen/GPU/KernelEmulation.h"

#include "KernelTable.h"
#include "mp-opt/Codegen/Target/GPULimits.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/SymbolTable.h"

using namespace mlir;

namespace mp {

using namespace emulation;

namespace {

/// Bits of `flags` in mp_emulated_kernel.
constexpr int32_t synchronizes = 1, shares = 2, isChecked = 4;

class ModuleEmulation {
public:
  ModuleEmulation(ModuleOp module, const KernelEmulationOptions &options)
      : module(module), options(options) {}

  LogicalResult run(gpu::GPUModuleOp kernels);
  void finish() { writeKernelTable(module, entries, places); }

private:
  LogicalResult collect(gpu::GPUModuleOp kernels);
  LogicalResult emulate(LLVM::LLVMFuncOp function);
  /// Gives functions the flags of the functions that they call.
  void spreadFlags();
  void dropAddressSpaces(gpu::GPUModuleOp kernels);
  void dropAttributes(LLVM::LLVMFuncOp function);
  void moveOut(gpu::GPUModuleOp kernels);

  ModuleOp module;
  const KernelEmulationOptions &options;
  Places places;
  std::vector<KernelEntry> entries;

  // The state of the current gpu.module.
  SmallVector<LLVM::LLVMFuncOp> functions;
  llvm::StringMap<LLVM::GlobalOp> shared;
  llvm::StringMap<int32_t> flags;
  size_t firstEntry = 0;
};

} // namespace

LogicalResult ModuleEmulation::collect(gpu::GPUModuleOp kernels) {
  functions.clear();
  shared.clear();
  flags.clear();
  firstEntry = entries.size();
  for (Operation &op : *kernels.getBody()) {
    if (auto function = dyn_cast<LLVM::LLVMFuncOp>(op)) {
      functions.push_back(function);
      continue;
    }
    auto global = dyn_cast<LLVM::GlobalOp>(op);
    if (!global)
      return op.emitError("found '")
             << op.getName() << "' in gpu.module '" << kernels.getName()
             << "', expected functions and globals of the LLVM dialect";
    if (global.getAddrSpace() == sharedSpace)
      shared[global.getName()] = global;
  }
  return success();
}

LogicalResult ModuleEmulation::emulate(LLVM::LLVMFuncOp function) {
  for (unsigned index = 0; index < function.getNumArguments(); ++index)
    if (function.getArgAttr(index, LLVM::LLVMDialect::getByValAttrName()))
      return function.emitError("found a parameter by value in '")
             << function.getName() << "', expected pointers and numbers";
  SharedMemoryLayout layout(function, shared);
  if (layout.getStaticBytes() > device::maxStaticShared)
    return function.emitError("found ")
           << layout.getStaticBytes() << " bytes of static shared memory in '"
           << function.getName() << "', expected at most "
           << device::maxStaticShared;
  FunctionEmulation emulation(function, layout, places);
  if (failed(emulation.run(options.checkRaces)))
    return failure();
  int32_t &own = flags[function.getName()];
  own = (emulation.synchronizes() ? synchronizes : 0) |
        (emulation.hasSharedMemory() ? shares : 0) |
        (options.checkRaces ? isChecked : 0);
  if (!isKernel(function) || function.isExternal())
    return success();
  KernelEntry entry = {function, function.getName().str(), std::move(layout)};
  readSizes(entry);
  entries.push_back(std::move(entry));
  return success();
}

void ModuleEmulation::spreadFlags() {
  bool hasChanged = true;
  while (hasChanged) {
    hasChanged = false;
    for (LLVM::LLVMFuncOp function : functions)
      function.walk([&](LLVM::CallOp call) {
        int32_t &own = flags[function.getName()];
        int32_t more = own;
        if (std::optional<StringRef> callee = call.getCallee())
          more |= flags.lookup(*callee);
        hasChanged |= more != own;
        own = more;
      });
  }
  for (KernelEntry &entry : llvm::drop_begin(entries, firstEntry))
    entry.flags = flags[entry.function.getName()];
}

void ModuleEmulation::dropAddressSpaces(gpu::GPUModuleOp kernels) {
  AttrTypeReplacer replacer;
  replacer.addReplacement(
      [](LLVM::LLVMPointerType type) -> std::optional<Type> {
        return LLVM::LLVMPointerType::get(type.getContext());
      });
  replacer.recursivelyReplaceElementsIn(kernels, /*replaceAttrs=*/true,
                                        /*replaceLocs=*/false,
                                        /*replaceTypes=*/true);
  kernels.walk([](LLVM::AddrSpaceCastOp cast) {
    cast.replaceAllUsesWith(cast.getArg());
    cast.erase();
  });
  for (LLVM::GlobalOp global : kernels.getBody()->getOps<LLVM::GlobalOp>())
    global.setAddrSpace(0);
}

/// Drops the attributes that describe the GPU.
void ModuleEmulation::dropAttributes(LLVM::LLVMFuncOp function) {
  function->setDiscardableAttrs(ArrayRef<NamedAttribute>());
  function.removeTargetCpuAttr();
  function.removeTuneCpuAttr();
  function.removeTargetFeaturesAttr();
  function.removePassthroughAttr();
  // The functions call the emulator now.
  function.removeMemoryEffectsAttr();
  function.removeWillReturnAttr();
  function.setCConv(LLVM::CConv::C);
  for (unsigned index = 0; index < function.getNumArguments(); ++index) {
    SmallVector<NamedAttribute> kept;
    for (NamedAttribute attribute :
         FunctionOpInterface(function).getArgAttrs(index))
      if (attribute.getName().strref().starts_with("llvm."))
        kept.push_back(attribute);
    FunctionOpInterface(function).setArgAttrs(index, kept);
  }
  if (!function.isExternal())
    function.setLinkage(LLVM::Linkage::Internal);
}

/// Names that the module has already get a number.
void ModuleEmulation::moveOut(gpu::GPUModuleOp kernels) {
  SymbolTable inner(kernels), outer(module);
  for (Operation &op : llvm::make_early_inc_range(*kernels.getBody())) {
    auto name = SymbolTable::getSymbolName(&op);
    auto function = dyn_cast<LLVM::LLVMFuncOp>(op);
    Operation *other = outer.lookup(name);
    if (other && function && function.isExternal()) {
      op.erase();
      continue;
    }
    if (other)
      (void)inner.renameToUnique(&op, {&outer});
    op.moveBefore(module.getBody(), module.getBody()->end());
    outer.insert(&op);
  }
  kernels.erase();
}

LogicalResult ModuleEmulation::run(gpu::GPUModuleOp kernels) {
  if (failed(collect(kernels)))
    return failure();
  for (LLVM::LLVMFuncOp function : functions)
    if (failed(emulate(function)))
      return failure();
  spreadFlags();
  for (LLVM::GlobalOp global : llvm::make_second_range(shared))
    global.erase();
  dropAddressSpaces(kernels);
  for (LLVM::LLVMFuncOp function : functions)
    dropAttributes(function);
  moveOut(kernels);
  return success();
}

LogicalResult emulateKernels(ModuleOp module,
                             const KernelEmulationOptions &options) {
  SmallVector<gpu::GPUModuleOp> all(module.getOps<gpu::GPUModuleOp>());
  if (Operation *table = module.lookupSymbol(tableName)) {
    if (all.empty())
      return success();
    return table->emitError("found a table of kernels, but there are more");
  }
  ModuleEmulation emulation(module, options);
  for (gpu::GPUModuleOp kernels : all)
    if (failed(emulation.run(kernels)))
      return failure();
  emulation.finish();
  return success();
}

} // namespace mp
