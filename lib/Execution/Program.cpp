//===- Program.cpp - A model compiled for this machine --------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Execution/Program.h"

#include "DeviceProgram.h"
#include "LinkedCode.h"
#include "mp-opt/Execution/ModelInterface.h"
#include "mp-opt/Runtime/CompiledCode.h"

#include <chrono>

using namespace mlir;

namespace mp {

/// The array for the times of this thread's current call.
static thread_local int64_t *currentTimes = nullptr;

/// The target of `runtime.stamp`. It is not in the run-time library because
/// code in files has no timestamps.
static void keepTime(int64_t number) {
  currentTimes[number] = std::chrono::steady_clock::now().time_since_epoch() /
                         std::chrono::nanoseconds(1);
}

struct Program::Impl {
  ModelInterface interface;
  CompileFigures figures;
  bool inPlace = false;
  int64_t callNumber = 0;
  /// Slots for values that calls keep.
  std::vector<void *> kept;
  LinkedCode code;
  mp_model entry = nullptr;
  std::vector<KernelWork> kernels;
  std::vector<int64_t> times;
  /// Null for the processor.
  std::unique_ptr<DeviceProgram> device;

  ~Impl() { mp_release_kept(kept.data(), kept.size()); }
  bool isWritten(unsigned input) const {
    return inPlace && interface.isState(input);
  }
  llvm::Error load(ProgramCode &code, int deviceNumber);
  llvm::Error link(ProgramCode &code);
  llvm::Error completeInput(unsigned index, Tensor &input) const;
  llvm::Error run(MutableArrayRef<Tensor> inputs,
                  SmallVectorImpl<Tensor> &results);
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
ArrayRef<KernelWork> Program::getKernels() const { return impl->kernels; }
ArrayRef<int64_t> Program::getTimes() const { return impl->times; }
CompileFigures &Program::getFigures() { return impl->figures; }

//===----------------------------------------------------------------------===//
// Loading
//===----------------------------------------------------------------------===//

#ifdef __x86_64__
/// Functions of the compiler's run-time library for conversions that the
/// processor has no instruction for.
#define MP_CONVERSIONS(X) X(__extendhfsf2) X(__truncsfhf2) X(__truncdfhf2)
#define MP_DECLARE(NAME) extern "C" void NAME();
MP_CONVERSIONS(MP_DECLARE)
#undef MP_DECLARE
#else
#define MP_CONVERSIONS(X)
#endif

/// Defines the symbols that code refers to: functions of the library and
/// constants. If this is part of a shared library, its own dependencies may not
/// be globally visible.
static LinkedCode::Symbols getSymbols(ArrayRef<Tensor> constants) {
  LinkedCode::Symbols symbols;
#define MP_CODE_FUNCTION(NAME)                                                 \
  symbols.emplace_back(#NAME, reinterpret_cast<const void *>(&NAME));
#include "mp-opt/Runtime/Functions.def"
#define MP_CONVERSION(NAME)                                                    \
  symbols.emplace_back(#NAME, reinterpret_cast<const void *>(&NAME));
  MP_CONVERSIONS(MP_CONVERSION)
#undef MP_CONVERSION
  symbols.emplace_back("mp_stamp", reinterpret_cast<const void *>(&keepTime));
  for (auto [index, constant] : llvm::enumerate(constants))
    symbols.emplace_back(("mp_constant_" + Twine(index)).str(),
                         constant.getData());
  return symbols;
}

llvm::Error Program::Impl::link(ProgramCode &program) {
  if (llvm::Error error = code.link(std::move(program.objects),
                                    getSymbols(interface.constants)))
    return error;
  auto main = code.find("main");
  if (!main)
    return main.takeError();
  entry = reinterpret_cast<mp_model>(*main);
  return llvm::Error::success();
}

llvm::Error Program::Impl::load(ProgramCode &code, int deviceNumber) {
  if (code.device == DeviceKind::CPU)
    return link(code);
  device = std::make_unique<DeviceProgram>();
  if (llvm::Error error = device->load(code, deviceNumber))
    return error;
  figures.arenaBytes = int64_t(device->getArenaBytes());
  return llvm::Error::success();
}

llvm::Expected<std::unique_ptr<Program>>
Program::load(ProgramCode code, bool updateInPlace, int deviceNumber) {
  std::unique_ptr<Program> program(new Program());
  Impl &impl = *program->impl;
  impl.inPlace = updateInPlace;
  impl.interface = code.interface;
  impl.kept.resize(impl.interface.numSlots);
  impl.figures.arenaBytes = impl.interface.arenaBytes;
  impl.figures.flops = code.flops;
  impl.kernels = std::move(code.kernels);
  impl.times.resize(impl.kernels.size() + 1);
  for (const Tensor &constant : impl.interface.constants)
    impl.figures.constantBytes += constant.getNumBytes();
  for (const std::unique_ptr<llvm::MemoryBuffer> &object : code.objects)
    impl.figures.codeBytes += object->getBufferSize();
  impl.figures.codeBytes += code.plan.size();
  if (llvm::Error error = impl.load(code, deviceNumber))
    return error;
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

/// Runs on the processor.
llvm::Error Program::Impl::run(MutableArrayRef<Tensor> inputs,
                               SmallVectorImpl<Tensor> &results) {
  std::vector<mp_tensor> arguments(inputs.size());
  for (auto [index, input] : llvm::enumerate(inputs))
    arguments[index] = {input.getData(),
                        const_cast<int64_t *>(input.getSizes().data())};
  std::vector<mp_tensor> memory(interface.outputs.size());
  std::vector<SmallVector<int64_t, 4>> sizes;
  for (const ProgramValue &output : interface.outputs)
    sizes.push_back(output.sizes);
  for (unsigned index = 0; index < memory.size(); ++index)
    memory[index] = {nullptr, sizes[index].data()};
  currentTimes = times.data();
  if (mp_call(entry, arguments.data(), memory.data(), callNumber++,
              kept.data()) != MP_OK)
    return llvm::createStringError(mp_last_error());
  results.clear();
  for (auto [index, output] : llvm::enumerate(interface.outputs)) {
    if (output.state >= 0 && isWritten(output.state)) {
      results.push_back(inputs[output.state]);
      continue;
    }
    std::shared_ptr<void> owner(memory[index].data, mp_release);
    results.push_back(
        Tensor(output.kind, sizes[index], memory[index].data, owner));
  }
  return llvm::Error::success();
}

llvm::Error Program::run(ArrayRef<Tensor> given,
                         SmallVectorImpl<Tensor> &results) {
  const ModelInterface &interface = impl->interface;
  if (given.size() != interface.inputs.size())
    return llvm::createStringError("found " + Twine(given.size()) +
                                   " inputs, expected " +
                                   Twine(interface.inputs.size()));
  SmallVector<Tensor> inputs(given);
  for (auto [index, input] : llvm::enumerate(inputs))
    if (llvm::Error error = impl->completeInput(index, input))
      return error;
  if (impl->device)
    return impl->device->run(inputs, impl->callNumber++, interface, results);
  return impl->run(inputs, results);
}

void Program::watchState(unsigned input) {
  if (impl->device)
    impl->device->watchState(input);
}

void Program::keepInput(unsigned input) {
  if (impl->device)
    impl->device->keepInput(input);
}

void Program::changeInput(unsigned input) {
  if (impl->device)
    impl->device->changeInput(input);
}

bool Program::hasStatesApart() const { return impl->device != nullptr; }

const mp_driver *Program::getDriver() const {
  return impl->device ? impl->device->getDriver() : nullptr;
}

int Program::getDeviceNumber() const {
  return impl->device ? impl->device->getNumber() : 0;
}

llvm::Error Program::fetchStates() {
  return impl->device ? impl->device->fetchStates() : llvm::Error::success();
}

llvm::Error checkDevice(DeviceKind device) {
  const mp_driver *driver = nullptr;
  if (device == DeviceKind::CUDA && mp_cuda_driver(&driver) != MP_OK)
    return llvm::createStringError(mp_last_error());
  return llvm::Error::success();
}

void setNumThreads(unsigned count) { mp_set_threads(count); }
unsigned getNumThreads() { return mp_get_threads(); }

} // namespace mp
