//===- CompiledKernels.cpp - Kernels in this process ---------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CompiledKernels.h"

#include "mp-opt/Codegen/GPU/KernelEmulation.h"
#include "mp-opt/Emulation/EmulatedCode.h"
#include "mp-opt/Execution/CodeGen.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ExecutionEngine/Orc/AbsoluteSymbols.h"
#include "llvm/ExecutionEngine/Orc/ExecutionUtils.h"
#include "llvm/ExecutionEngine/Orc/SelfExecutorProcessControl.h"

using namespace mlir;

namespace mp {

CompiledKernels::~CompiledKernels() {
  if (session)
    llvm::consumeError(session->endSession());
}

llvm::Error CompiledKernels::build(const std::string &text, bool checkRaces) {
  DialectRegistry registry;
  registry.insert<gpu::GPUDialect, LLVM::LLVMDialect, NVVM::NVVMDialect>();
  registerTranslations(registry);
  context.appendDialectRegistry(registry);
  context.loadAllAvailableDialects();
  auto module =
      parseSourceString<ModuleOp>(text, ParserConfig(&context), "kernels.mlir");
  if (!module || failed(emulateKernels(*module, {checkRaces})) ||
      failed(verify(*module)))
    return llvm::createStringError("kernels could not be made code");
  auto machine = createTargetMachine(CodeTarget());
  if (!machine)
    return machine.takeError();
  auto objects = emitObjects(*module, **machine, CompileWatch());
  if (!objects)
    return objects.takeError();
  return link(std::move(*objects));
}

llvm::Error CompiledKernels::link(
    std::vector<std::unique_ptr<llvm::MemoryBuffer>> objects) {
  auto process = llvm::orc::SelfExecutorProcessControl::Create(
      nullptr, std::make_unique<llvm::orc::InPlaceTaskDispatcher>());
  if (!process)
    return process.takeError();
  session = std::make_unique<llvm::orc::ExecutionSession>(std::move(*process));
  layer = std::make_unique<llvm::orc::ObjectLinkingLayer>(*session);
  llvm::orc::JITDylib &library = session->createBareJITDylib("kernels");
  llvm::orc::SymbolMap symbols;
#define MP_EMULATED_FUNCTION(NAME)                                             \
  symbols[session->intern(#NAME)] = {                                          \
      llvm::orc::ExecutorAddr::fromPtr(reinterpret_cast<void *>(&NAME)),       \
      llvm::JITSymbolFlags::Exported};
#include "mp-opt/Emulation/Functions.def"
  if (llvm::Error error =
          library.define(llvm::orc::absoluteSymbols(std::move(symbols))))
    return error;
  auto others =
      llvm::orc::DynamicLibrarySearchGenerator::GetForCurrentProcess('\0');
  if (!others)
    return others.takeError();
  library.addGenerator(std::move(*others));
  for (std::unique_ptr<llvm::MemoryBuffer> &object : objects)
    if (llvm::Error error = layer->add(library, std::move(object)))
      return error;
  auto entries = session->lookup({&library}, "mp_emulated_kernels");
  if (!entries)
    return entries.takeError();
  auto number = session->lookup({&library}, "mp_emulated_kernel_count");
  if (!number)
    return number.takeError();
  table = entries->getAddress().toPtr<const mp_emulated_kernel *>();
  count = *number->getAddress().toPtr<const uint32_t *>();
  return llvm::Error::success();
}

const mp_emulated_kernel *CompiledKernels::find(StringRef name) const {
  for (uint32_t index = 0; index < count; ++index)
    if (name == table[index].name)
      return &table[index];
  return nullptr;
}

} // namespace mp
