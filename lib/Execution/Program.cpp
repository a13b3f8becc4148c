//===- Program.cpp - A model compiled for this machine --------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Execution/Program.h"

#include "mp-opt/Conversion/ONNXToLinalg.h"
#include "mp-opt/Dialect/ONNX/ONNX.h"
#include "mp-opt/Execution/CodeGen.h"
#include "mp-opt/Runtime/Runtime.h"
#include "mp-opt/Target/ONNX/ConstantData.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"

using namespace mlir;

namespace mp {

struct Program::Impl {
  std::vector<ProgramValue> inputs, outputs;
  std::vector<Tensor> defaults, constants;
  CompileFigures figures;
  bool inPlace = false;
  std::unique_ptr<llvm::orc::LLJIT> jit;
  int32_t (*entry)(const mp_tensor *, mp_tensor *) = nullptr;

  LogicalResult readInterface(ModuleOp module);
  llvm::Error load(ModuleOp module);
  llvm::Error addSymbols();
  llvm::Error checkInput(unsigned index, const Tensor &tensor) const;
};

Program::Program() : impl(std::make_unique<Impl>()) {}
Program::~Program() = default;

ArrayRef<ProgramValue> Program::getInputs() const { return impl->inputs; }
ArrayRef<ProgramValue> Program::getOutputs() const { return impl->outputs; }
Tensor Program::getDefault(unsigned input) const {
  return impl->defaults[input];
}
CompileFigures &Program::getFigures() { return impl->figures; }

//===----------------------------------------------------------------------===//
// Compilation
//===----------------------------------------------------------------------===//

/// What mp-bind-arguments says of a value.
static ProgramValue readValue(DictionaryAttr description) {
  ProgramValue value;
  if (auto name = description.getAs<StringAttr>(lowered::name))
    value.name = name.str();
  auto type =
      cast<RankedTensorType>(description.getAs<TypeAttr>("type").getValue());
  for (int64_t size : type.getShape())
    value.sizes.push_back(ShapedType::isDynamic(size) ? -1 : size);
  value.kind = onnxir::getElementKind(
      description.getAs<TypeAttr>(lowered::element).getValue());
  value.hasDefault = description.contains(lowered::constant);
  if (auto state = description.getAs<IntegerAttr>(lowered::state))
    value.state = state.getInt();
  return value;
}

static FailureOr<Tensor> readConstant(ModuleOp module, Attribute attribute) {
  return getConstantData(cast<TypedAttr>(attribute),
                         [&] { return module.emitError("a constant: "); });
}

LogicalResult Program::Impl::readInterface(ModuleOp module) {
  auto list = [&](StringRef name) {
    return module->getAttrOfType<ArrayAttr>(name).getAsRange<DictionaryAttr>();
  };
  for (DictionaryAttr description : list("mp.inputs")) {
    inputs.push_back(readValue(description));
    Tensor value;
    if (inputs.back().hasDefault) {
      auto read = readConstant(module, description.get(lowered::constant));
      if (failed(read))
        return failure();
      value = *read;
    }
    defaults.push_back(value);
  }
  for (DictionaryAttr description : list("mp.outputs"))
    outputs.push_back(readValue(description));
  for (DictionaryAttr description : list("mp.constants")) {
    auto read = readConstant(module, description.get(lowered::constant));
    if (failed(read))
      return failure();
    constants.push_back(*read);
    figures.constantBytes += read->getNumBytes();
  }
  if (auto arena = module->getAttrOfType<IntegerAttr>("mp.arena"))
    figures.arenaBytes = arena.getInt();
  return success();
}

/// What code refers to: the library's functions, and the constants.
llvm::Error Program::Impl::addSymbols() {
  llvm::orc::SymbolMap symbols;
  auto add = [&](llvm::StringRef name, const void *address) {
    symbols[jit->mangleAndIntern(name)] = {
        llvm::orc::ExecutorAddr::fromPtr(address),
        llvm::JITSymbolFlags::Exported};
  };
#define ADD(NAME) add(#NAME, reinterpret_cast<const void *>(&NAME))
  ADD(mp_allocate);
  ADD(mp_fail);
  ADD(mp_free);
  ADD(mp_output);
  ADD(mp_parallel_for);
  ADD(mp_report);
  ADD(mp_scratch);
#undef ADD
  for (auto [index, constant] : llvm::enumerate(constants))
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
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> code =
      translateToLLVM(module, context, **machine);
  if (!code)
    return llvm::createStringError("LLVM IR could not be made");
  auto object = emitObject(*code, **machine);
  if (!object)
    return object.takeError();
  auto made = llvm::orc::LLJITBuilder().create();
  if (!made)
    return made.takeError();
  jit = std::move(*made);
  if (llvm::Error error = addSymbols())
    return error;
  if (llvm::Error error = jit->addObjectFile(std::move(*object)))
    return error;
  auto found = jit->lookup("main");
  if (!found)
    return found.takeError();
  entry = found->toPtr<int32_t (*)(const mp_tensor *, mp_tensor *)>();
  return llvm::Error::success();
}

std::unique_ptr<Program> Program::load(ModuleOp module, bool updateInPlace) {
  DialectRegistry registry;
  registerTranslations(registry);
  module.getContext()->appendDialectRegistry(registry);
  std::unique_ptr<Program> program(new Program());
  Impl &impl = *program->impl;
  impl.inPlace = updateInPlace;
  if (failed(impl.readInterface(module)))
    return nullptr;
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

llvm::Error Program::Impl::checkInput(unsigned index,
                                      const Tensor &tensor) const {
  const ProgramValue &value = inputs[index];
  bool fits = tensor.getKind() == value.kind &&
              tensor.getSizes().size() == value.sizes.size();
  if (fits)
    for (auto [found, expected] : llvm::zip(tensor.getSizes(), value.sizes))
      fits &= expected < 0 || found == expected;
  if (fits)
    return llvm::Error::success();
  return llvm::createStringError(
      "input '" + value.name + "': found " +
      describeType(tensor.getKind(), tensor.getSizes()) + ", expected " +
      describeType(value.kind, value.sizes));
}

llvm::Error Program::run(ArrayRef<Tensor> given,
                         SmallVectorImpl<Tensor> &results) {
  if (given.size() != impl->inputs.size())
    return llvm::createStringError("found " + Twine(given.size()) +
                                   " inputs, expected " +
                                   Twine(impl->inputs.size()));
  SmallVector<Tensor> inputs(given);
  std::vector<mp_tensor> arguments(inputs.size());
  for (unsigned index = 0; index < inputs.size(); ++index) {
    Tensor &input = inputs[index];
    if (input.getKind() == ElementKind::Undefined) {
      if (!impl->inputs[index].hasDefault)
        return llvm::createStringError("input '" + impl->inputs[index].name +
                                       "' is missing");
      input = impl->defaults[index];
      bool isState =
          impl->inPlace &&
          llvm::any_of(impl->outputs, [&](const ProgramValue &output) {
            return output.state == static_cast<int>(index);
          });
      if (isState) {
        auto copy = input.clone();
        if (!copy)
          return copy.takeError();
        input = *copy;
      }
    }
    if (llvm::Error error = impl->checkInput(index, input))
      return error;
    arguments[index] = {input.getData(),
                        const_cast<int64_t *>(input.getSizes().data())};
  }
  std::vector<mp_tensor> memory(impl->outputs.size());
  std::vector<SmallVector<int64_t, 4>> sizes;
  for (const ProgramValue &output : impl->outputs)
    sizes.push_back(output.sizes);
  for (unsigned index = 0; index < memory.size(); ++index)
    memory[index] = {nullptr, sizes[index].data()};
  if (mp_call(impl->entry, arguments.data(), memory.data()) != MP_OK)
    return llvm::createStringError(mp_last_error());
  results.clear();
  for (auto [index, output] : llvm::enumerate(impl->outputs)) {
    if (impl->inPlace && output.state >= 0) {
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
