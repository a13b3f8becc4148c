//===- Program.cpp - A model compiled for this machine --------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Execution/Program.h"

#include "Backends.h"
#include "mp-opt/Execution/ModelInterface.h"
#include "mp-opt/Runtime/CompiledCode.h"

#include <atomic>
#include <cstring>

using namespace mlir;

namespace mp {

struct Program::Impl {
  ModelInterface interface;
  CompileFigures figures;
  bool inPlace = false;
  std::atomic<int64_t> callNumber = 0;
  std::vector<KernelWork> kernels;
  std::unique_ptr<Backend> backend;

  bool isWritten(unsigned input) const {
    return inPlace && interface.isState(input);
  }
  llvm::Error completeInput(unsigned index, Tensor &input) const;
  llvm::Error completeInputs(SmallVectorImpl<Tensor> &inputs) const;
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
ArrayRef<int64_t> Program::getTimes() const {
  return impl->backend->getTimes();
}
CompileFigures &Program::getFigures() { return impl->figures; }

//===----------------------------------------------------------------------===//
// Loading
//===----------------------------------------------------------------------===//

Backend::~Backend() = default;

std::unique_ptr<Backend> Backend::create(DeviceKind device,
                                         const ModelInterface &interface,
                                         bool updateInPlace) {
  return device == DeviceKind::CPU ? createCPUBackend(interface, updateInPlace)
                                   : createCUDABackend(interface);
}

llvm::Expected<std::unique_ptr<Program>>
Program::load(ProgramCode code, bool updateInPlace, int deviceNumber) {
  std::unique_ptr<Program> program(new Program());
  Impl &impl = *program->impl;
  impl.inPlace = updateInPlace;
  impl.interface = code.interface;
  impl.figures.flops = code.flops;
  impl.figures.droppedRoundings = std::move(code.droppedRoundings);
  for (const Tensor &constant : impl.interface.constants)
    impl.figures.constantBytes += constant.getNumBytes();
  for (const std::unique_ptr<llvm::MemoryBuffer> &object : code.objects)
    impl.figures.codeBytes += object->getBufferSize();
  impl.figures.codeBytes += code.plan.size();
  impl.backend = Backend::create(code.device, impl.interface, updateInPlace);
  if (llvm::Error error = impl.backend->load(code, deviceNumber))
    return error;
  impl.figures.arenaBytes = impl.backend->getArenaBytes();
  impl.kernels = std::move(code.kernels);
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

llvm::Error
Program::Impl::completeInputs(SmallVectorImpl<Tensor> &inputs) const {
  if (inputs.size() != interface.inputs.size())
    return llvm::createStringError("found " + Twine(inputs.size()) +
                                   " inputs, expected " +
                                   Twine(interface.inputs.size()));
  for (auto [index, input] : llvm::enumerate(inputs))
    if (llvm::Error error = completeInput(index, input))
      return error;
  return llvm::Error::success();
}

llvm::Error Program::run(ArrayRef<Tensor> given,
                         SmallVectorImpl<Tensor> &results,
                         MeanwhileFn meanwhile) {
  SmallVector<Tensor> inputs(given);
  if (llvm::Error error = impl->completeInputs(inputs))
    return error;
  return impl->backend->run(inputs, impl->callNumber++, results, meanwhile);
}

llvm::Error Program::runInto(ArrayRef<Tensor> given, OutputMemoryFn place) {
  SmallVector<Tensor> inputs(given);
  if (llvm::Error error = impl->completeInputs(inputs))
    return error;
  return impl->backend->runInto(inputs, impl->callNumber++, place);
}

llvm::Error Backend::runInto(ArrayRef<Tensor> inputs, int64_t number,
                             OutputMemoryFn place) {
  SmallVector<Tensor> results;
  if (llvm::Error error = run(inputs, number, results, nullptr))
    return error;
  for (auto [index, result] : llvm::enumerate(results)) {
    void *memory = place(index, result.getSizes());
    if (!memory && result.getNumBytes())
      return llvm::createStringError("output " + Twine(index) +
                                     " has no memory");
    if (result.getNumBytes())
      std::memcpy(memory, result.getData(), result.getNumBytes());
  }
  return llvm::Error::success();
}

void Program::watchState(unsigned input) { impl->backend->watchState(input); }
void Program::keepInput(unsigned input) { impl->backend->keepInput(input); }
void Program::changeInput(unsigned input) { impl->backend->changeInput(input); }
llvm::Expected<std::string> Program::prepareNextInputs() {
  return impl->backend->prepareNextInputs();
}
bool Program::takesNextInput(unsigned input) const {
  return impl->backend->takesNextInput(input);
}
llvm::Error Program::setNextInput(unsigned input, const Tensor &tensor) {
  // Checked as in a call.
  Tensor given = tensor;
  if (llvm::Error error = impl->completeInput(input, given))
    return error;
  return impl->backend->setNextInput(input, given);
}
llvm::Error Program::dropNextInputs() {
  return impl->backend->dropNextInputs();
}
bool Program::hasStatesApart() const { return impl->backend->hasStatesApart(); }
const mp_driver *Program::getDriver() const {
  return impl->backend->getDriver();
}
int Program::getDeviceNumber() const {
  return impl->backend->getDeviceNumber();
}
llvm::Error Program::fetchStates() { return impl->backend->fetchStates(); }

llvm::Error checkDevice(DeviceKind device) {
  const mp_driver *driver = nullptr;
  if (device == DeviceKind::CUDA && mp_cuda_driver(&driver) != MP_OK)
    return llvm::createStringError(mp_last_error());
  return llvm::Error::success();
}

void setNumThreads(unsigned count) { mp_set_threads(count); }
unsigned getNumThreads() { return mp_get_threads(); }

} // namespace mp
