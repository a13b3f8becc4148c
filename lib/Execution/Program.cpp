//===- Program.cpp - A model compiled for this machine --------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Execution/Program.h"

#include "mp-opt/Execution/CodeGen.h"
#include "mp-opt/Execution/ModelInterface.h"
#include "mp-opt/Runtime/CompiledCode.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"

using namespace mlir;

namespace mp {

struct Program::Impl {
  ModelInterface interface;
  CompileFigures figures;
  bool inPlace = false;
  int64_t callNumber = 0;
  /// What calls keep for later ones.
  std::vector<void *> kept;
  std::unique_ptr<llvm::orc::LLJIT> jit;
  mp_model entry = nullptr;

  ~Impl() { mp_release_kept(kept.data(), kept.size()); }
  llvm::Error load(ModuleOp module);
  llvm::Error addSymbols();
  bool isWritten(unsigned input) const {
    return inPlace && interface.isState(input);
  }
  llvm::Error completeInput(unsigned index, Tensor &input) const;
};

Program::Program() : impl(std::make_unique<Impl>()) {}
Program::~Program() = default;

ArrayRef<ProgramValue> Program::getInputs() const {
  return impl->interface.inputs;
}
ArrayRef<ProgramValue> Program::getOutputs() const {
  return impl->interface.outputs;
}
Tensor Program::getDefault(unsigned input) const {
  return impl->interface.defaults[input];
}
llvm::Expected<Tensor> Program::takeDefault(unsigned input) {
  impl->interface.inputs[input].hasDefault = false;
  return Tensor::makeOwn(
      std::exchange(impl->interface.defaults[input], Tensor()));
}
void Program::setCallNumber(int64_t number) { impl->callNumber = number; }
CompileFigures &Program::getFigures() { return impl->figures; }

//===----------------------------------------------------------------------===//
// Compilation
//===----------------------------------------------------------------------===//

/// What code refers to: the library's functions, and the constants.
llvm::Error Program::Impl::addSymbols() {
  llvm::orc::SymbolMap symbols;
  auto add = [&](llvm::StringRef name, const void *address) {
    symbols[jit->mangleAndIntern(name)] = {
        llvm::orc::ExecutorAddr::fromPtr(address),
        llvm::JITSymbolFlags::Exported};
  };
#define ADD(NAME) add(#NAME, reinterpret_cast<const void *>(&NAME))
  ADD(__truncdfbf2);
  ADD(__truncsfbf2);
  ADD(mp_allocate);
  ADD(mp_draw);
  ADD(mp_fail);
  ADD(mp_free);
  ADD(mp_keep);
  ADD(mp_kept);
  ADD(mp_output);
  ADD(mp_parallel_for);
  ADD(mp_report);
  ADD(mp_scratch);
#undef ADD
  for (auto [index, constant] : llvm::enumerate(interface.constants))
    add(("mp_constant_" + Twine(index)).str(), constant.getData());
  llvm::orc::JITDylib &library = jit->getMainJITDylib();
  if (llvm::Error error =
          library.define(llvm::orc::absoluteSymbols(std::move(symbols))))
    return error;
  auto process = llvm::orc::DynamicLibrarySearchGenerator::GetForCurrentProcess(
      jit->getDataLayout().getGlobalPrefix());
  if (!process)
    return process.takeError();
  library.addGenerator(std::move(*process));
  return llvm::Error::success();
}

llvm::Error Program::Impl::load(ModuleOp module) {
  auto machine = createTargetMachine(CodeTarget());
  if (!machine)
    return machine.takeError();
  auto objects = emitObjects(module, **machine);
  if (!objects)
    return objects.takeError();
  auto made = llvm::orc::LLJITBuilder().create();
  if (!made)
    return made.takeError();
  jit = std::move(*made);
  if (llvm::Error error = addSymbols())
    return error;
  for (std::unique_ptr<llvm::MemoryBuffer> &object : *objects)
    if (llvm::Error error = jit->addObjectFile(std::move(object)))
      return error;
  auto found = jit->lookup("main");
  if (!found)
    return found.takeError();
  entry = found->toPtr<mp_model>();
  return llvm::Error::success();
}

std::unique_ptr<Program> Program::load(ModuleOp module, bool updateInPlace) {
  DialectRegistry registry;
  registerTranslations(registry);
  module.getContext()->appendDialectRegistry(registry);
  std::unique_ptr<Program> program(new Program());
  Impl &impl = *program->impl;
  impl.inPlace = updateInPlace;
  FailureOr<ModelInterface> interface = readInterface(module);
  if (failed(interface))
    return nullptr;
  impl.interface = std::move(*interface);
  impl.kept.resize(impl.interface.numSlots);
  impl.figures.arenaBytes = impl.interface.arenaBytes;
  for (const Tensor &constant : impl.interface.constants)
    impl.figures.constantBytes += constant.getNumBytes();
  if (llvm::Error error = impl.load(module)) {
    module.emitError("compilation failed: ")
        << llvm::toString(std::move(error));
    return nullptr;
  }
  return program;
}

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

/// Checks it, or takes its default.
llvm::Error Program::Impl::completeInput(unsigned index, Tensor &input) const {
  const ProgramValue &value = interface.inputs[index];
  if (input.getKind() == ElementKind::Undefined) {
    if (!value.hasDefault)
      return llvm::createStringError("input '" + value.name + "' is missing");
    input = interface.defaults[index];
    if (isWritten(index)) {
      auto copy = input.clone();
      if (!copy)
        return copy.takeError();
      input = *copy;
    }
  }
  bool fits = input.getKind() == value.kind &&
              input.getSizes().size() == value.sizes.size();
  if (fits)
    for (auto [found, expected] : llvm::zip(input.getSizes(), value.sizes))
      fits &= expected < 0 || found == expected;
  if (fits)
    return llvm::Error::success();
  return llvm::createStringError(
      "input '" + value.name + "': found " +
      describeType(input.getKind(), input.getSizes()) + ", expected " +
      describeType(value.kind, value.sizes));
}

llvm::Error Program::run(ArrayRef<Tensor> given,
                         SmallVectorImpl<Tensor> &results) {
  const ModelInterface &interface = impl->interface;
  if (given.size() != interface.inputs.size())
    return llvm::createStringError("found " + Twine(given.size()) +
                                   " inputs, expected " +
                                   Twine(interface.inputs.size()));
  SmallVector<Tensor> inputs(given);
  std::vector<mp_tensor> arguments(inputs.size());
  for (auto [index, input] : llvm::enumerate(inputs)) {
    if (llvm::Error error = impl->completeInput(index, input))
      return error;
    arguments[index] = {input.getData(),
                        const_cast<int64_t *>(input.getSizes().data())};
  }
  std::vector<mp_tensor> memory(interface.outputs.size());
  std::vector<SmallVector<int64_t, 4>> sizes;
  for (const ProgramValue &output : interface.outputs)
    sizes.push_back(output.sizes);
  for (unsigned index = 0; index < memory.size(); ++index)
    memory[index] = {nullptr, sizes[index].data()};
  if (mp_call(impl->entry, arguments.data(), memory.data(), impl->callNumber++,
              impl->kept.data()) != MP_OK)
    return llvm::createStringError(mp_last_error());
  results.clear();
  for (auto [index, output] : llvm::enumerate(interface.outputs)) {
    if (output.state >= 0 && impl->isWritten(output.state)) {
      results.push_back(inputs[output.state]);
      continue;
    }
    std::shared_ptr<void> owner(memory[index].data, mp_release);
    results.push_back(
        Tensor(output.kind, sizes[index], memory[index].data, owner));
  }
  return llvm::Error::success();
}

void setNumThreads(unsigned count) { mp_set_threads(count); }
unsigned getNumThreads() { return mp_get_threads(); }

} // namespace mp
