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

#include "llvm/ExecutionEngine/Orc/AbsoluteSymbols.h"
#include "llvm/ExecutionEngine/Orc/ExecutionUtils.h"
#include "llvm/ExecutionEngine/Orc/ObjectLinkingLayer.h"
#include "llvm/ExecutionEngine/Orc/SelfExecutorProcessControl.h"

using namespace mlir;

namespace mp {

namespace {
/// Object files that are linked in this process. Who makes them is not asked
/// for: code that has been kept needs no compiler.
class LinkedCode {
public:
  ~LinkedCode();
  llvm::Error link(std::vector<std::unique_ptr<llvm::MemoryBuffer>> objects,
                   ArrayRef<Tensor> constants);
  mp_model getEntry() const { return entry; }

private:
  llvm::Error addSymbols(llvm::orc::JITDylib &library,
                         ArrayRef<Tensor> constants);

  std::unique_ptr<llvm::orc::ExecutionSession> session;
  std::unique_ptr<llvm::orc::ObjectLinkingLayer> layer;
  mp_model entry = nullptr;
};
} // namespace

struct Program::Impl {
  ModelInterface interface;
  CompileFigures figures;
  bool inPlace = false;
  int64_t callNumber = 0;
  /// What calls keep for later ones.
  std::vector<void *> kept;
  LinkedCode code;

  ~Impl() { mp_release_kept(kept.data(), kept.size()); }
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
// Linking
//===----------------------------------------------------------------------===//

LinkedCode::~LinkedCode() {
  if (session)
    llvm::consumeError(session->endSession());
}

/// What code refers to: the library's functions, and the constants.
llvm::Error LinkedCode::addSymbols(llvm::orc::JITDylib &library,
                                   ArrayRef<Tensor> constants) {
  llvm::orc::SymbolMap symbols;
  auto add = [&](llvm::StringRef name, const void *address) {
    symbols[session->intern(name)] = {llvm::orc::ExecutorAddr::fromPtr(address),
                                      llvm::JITSymbolFlags::Exported};
  };
#define MP_CODE_FUNCTION(NAME)                                                 \
  add(#NAME, reinterpret_cast<const void *>(&NAME));
#include "mp-opt/Runtime/Functions.def"
  for (auto [index, constant] : llvm::enumerate(constants))
    add(("mp_constant_" + Twine(index)).str(), constant.getData());
  if (llvm::Error error =
          library.define(llvm::orc::absoluteSymbols(std::move(symbols))))
    return error;
  auto process = llvm::orc::DynamicLibrarySearchGenerator::GetForCurrentProcess(
      /*GlobalPrefix=*/'\0');
  if (!process)
    return process.takeError();
  library.addGenerator(std::move(*process));
  return llvm::Error::success();
}

llvm::Error
LinkedCode::link(std::vector<std::unique_ptr<llvm::MemoryBuffer>> objects,
                 ArrayRef<Tensor> constants) {
  auto process = llvm::orc::SelfExecutorProcessControl::Create(
      nullptr, std::make_unique<llvm::orc::InPlaceTaskDispatcher>());
  if (!process)
    return process.takeError();
  session = std::make_unique<llvm::orc::ExecutionSession>(std::move(*process));
  layer = std::make_unique<llvm::orc::ObjectLinkingLayer>(*session);
  llvm::orc::JITDylib &library = session->createBareJITDylib("model");
  if (llvm::Error error = addSymbols(library, constants))
    return error;
  for (std::unique_ptr<llvm::MemoryBuffer> &object : objects)
    if (llvm::Error error = layer->add(library, std::move(object)))
      return error;
  auto found = session->lookup({&library}, "main");
  if (!found)
    return found.takeError();
  entry = found->getAddress().toPtr<mp_model>();
  return llvm::Error::success();
}

llvm::Expected<std::unique_ptr<Program>> Program::load(ProgramCode code,
                                                       bool updateInPlace) {
  std::unique_ptr<Program> program(new Program());
  Impl &impl = *program->impl;
  impl.inPlace = updateInPlace;
  impl.interface = std::move(code.interface);
  impl.kept.resize(impl.interface.numSlots);
  impl.figures.arenaBytes = impl.interface.arenaBytes;
  impl.figures.flops = code.flops;
  for (const Tensor &constant : impl.interface.constants)
    impl.figures.constantBytes += constant.getNumBytes();
  for (const std::unique_ptr<llvm::MemoryBuffer> &object : code.objects)
    impl.figures.codeBytes += object->getBufferSize();
  if (llvm::Error error =
          impl.code.link(std::move(code.objects), impl.interface.constants))
    return error;
  return program;
}

FailureOr<ProgramCode> generateCode(ModuleOp module,
                                    const CompileWatch &watch) {
  DialectRegistry registry;
  registerTranslations(registry);
  module.getContext()->appendDialectRegistry(registry);
  ProgramCode code;
  FailureOr<ModelInterface> interface = readInterface(module);
  if (failed(interface))
    return failure();
  code.interface = std::move(*interface);
  auto fail = [&](llvm::Error error) {
    return module.emitError("compilation failed: ")
           << llvm::toString(std::move(error));
  };
  auto machine = createTargetMachine(CodeTarget());
  if (!machine)
    return LogicalResult(fail(machine.takeError()));
  auto objects = emitObjects(module, **machine, watch);
  if (!objects)
    return LogicalResult(fail(objects.takeError()));
  code.objects = std::move(*objects);
  return code;
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
  if (mp_call(impl->code.getEntry(), arguments.data(), memory.data(),
              impl->callNumber++, impl->kept.data()) != MP_OK)
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
